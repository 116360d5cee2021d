// Package redfish is the power driver for servers whose management controller
// (BMC) speaks Redfish (DMTF DSP0266): a system's PowerState is read, and its
// Reset action is posted with a ResetType that the controller allows.
//
// Here may live what concerns power by Redfish. What may not: anything else
// that Redfish manages.
package redfish
