module tools/metal3-ipam

go 1.26

tool github.com/metal3-io/ip-address-manager

require github.com/metal3-io/ip-address-manager v1.13.2

replace github.com/metal3-io/ip-address-manager/api => github.com/metal3-io/ip-address-manager/api v1.13.2
