// The objects of one site, from its facts: its pools with their hosts, and what is ready-made.
local host(site, pool, host) = {
  apiVersion: 'metal3.io/v1alpha1',
  kind: 'BareMetalHost',
  metadata: {
    name: host.name,
    namespace: site.name,
    labels: pool.labels {
      'foresite.dev/rack': host.rack,
      'foresite.dev/zone': host.zone,
      'infrastructure.cluster.x-k8s.io/failure-domain': host.zone,
    },
    annotations: pool.annotations {
      'foresite.dev/boot-mac': host.mac,
      'foresite.dev/serial': host.serial,
    },
  },
  spec: pool.spec {
    bmc: pool.bmc {
      address: pool.scheme + '://' + host.bmc + pool.path,
      credentialsName: host.name + '-bmc',
    },
    bootMACAddress: host.mac,
  },
};

function(site)
  local hosts = [[pool, each] for pool in site.pools for each in pool.hosts];
  site.objects
  + [host(site, pair[0], pair[1]) for pair in hosts]
  + [site.addresses {
    spec+: { preAllocations: { [pair[1].name + '-' + site.name]: pair[1].ip for pair in hosts } },
  }]
