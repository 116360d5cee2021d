// Package mdx is the power driver for virtual machines of the mdx platform
// (https://mdx.jp), by the REST API of its user portal.
//
// The API has no public specification. What is spoken here is what the
// operators' own client speaks (nii-gakunin-cloud/mdx-rest-client-python):
// power requests are accepted with 202 and carried out later, their bodies say
// nothing that can be relied on, and the VM's status is looked at to see what
// became of them.
//
// Here may live what concerns that API. What may not: logging in to the portal
// in a user's name (the user issues a token there), and any other platform.
package mdx
