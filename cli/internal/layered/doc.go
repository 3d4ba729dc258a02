// Package layered draws graphs in layers, after Sugiyama: it decides where boxes, labels
// and lines are. It knows neither rules nor a format of pictures.
//
// Every edge points down. Boxes are in the even layers, and labels in the odd ones. An edge
// that spans several layers takes up room in each of them, so that lines do not cross
// boxes, and labels do not overlap. The same graph always gives the same layout.
package layered
