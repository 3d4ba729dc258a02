// Package ruleobjects watches the Rules objects of one namespace, and writes their status.
//
// Each object is one rules file. What is not known for sure removes nothing: an object counts as removed only while
// neither its namespace nor its CustomResourceDefinition is being deleted, because these delete their objects, too.
package ruleobjects
