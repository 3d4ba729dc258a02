// Package driver plays everything around a controller of Foos: the users who create, change
// and delete Foos and Deployments, the Deployment controller, which writes the status of
// each Deployment, and the garbage collector, which deletes the Deployment of a deleted Foo.
//
// It sees the cluster through two watches, and knows from them when what a controller
// should do has happened. It knows nothing of how the controller does it.
//
//	d, err := driver.New(config, "default", nil)
//	ctx, stop := d.Start(ctx)
//	defer stop()
//	wait := d.Expect(names, driver.Scaled(1))
//	err = d.Create(ctx, names, 1)
//	reached, err := wait.Until(ctx)
package driver
