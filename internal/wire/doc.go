// SPDX-License-Identifier: Apache-2.0

// Package wire stands between the API's protobuf messages and the domain: it
// converts in both directions and holds all validation of what comes from outside.
// Questions about privacy and their answers are package questions', JSON is package
// wirejson's, and stored bytes are package record's; all three use this package.
//
// What has passed a To… function is valid: the rooms below need not check it
// again. In descriptors absent and zero differ: an absent parameter becomes the
// domain's 0 ("not given"), a parameter that is present must be in its range, so
// a present 0 is refused and never read as "not given". Every refusal is an
// *InvalidError that names the field, the value and what is allowed.
package wire
