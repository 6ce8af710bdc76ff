// Package wire stands between the API's protobuf messages and the domain: it
// converts in both directions, holds all validation of what comes from outside,
// and the JSON spelling. Stored bytes are package record's.
//
// What has passed a To… function is valid: the rooms below need not check it
// again. In descriptors absent and zero differ: an absent parameter becomes the
// domain's 0 ("not given"), a parameter that is present must be in its range, so
// a present 0 is refused and never read as "not given". Every refusal is an
// *InvalidError that names the field, the value and what is allowed.
package wire
