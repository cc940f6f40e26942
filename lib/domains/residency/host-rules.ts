import type { Region } from './rules.ts'

/** Hosts whose name contains the region, in domains that only the provider controls. */
const hosts: readonly (readonly [RegExp, string])[] = [
  [/^s3[.-]([a-z0-9-]+)\.amazonaws\.com$/, 'aws'],
  [/\.s3[.-]([a-z0-9-]+)\.amazonaws\.com$/, 'aws'],
  [/\.([a-z0-9-]+)\.rds\.amazonaws\.com$/, 'aws'],
  [/^email-smtp\.([a-z0-9-]+)\.amazonaws\.com$/, 'aws'],
  [/^[0-9a-f]+\.(eu|fedramp)\.r2\.cloudflarestorage\.com$/, 'cloudflare'],
  [/^([a-z0-9]+)\.your-objectstorage\.com$/, 'hetzner'],
  [/^s3\.([a-z0-9-]+)\.scw\.cloud$/, 'scaleway'],
  [/^s3\.([a-z0-9-]+)\.(?:io\.|perf\.)?cloud\.ovh\.(?:net|us)$/, 'ovh'],
  [/^([a-z0-9]+)\.digitaloceanspaces\.com$/, 'digitalocean'],
  [/^s3[.-]([a-z0-9-]+)\.ionoscloud\.com$/, 'ionos'],
  [/^sos-([a-z0-9-]+)\.exo\.io$/, 'exoscale'],
  [/^(eu|us)\.(?:i\.)?posthog\.com$/, 'posthog'],
]

/** The region that a host name proves, or null. */
export function regionOfHost(hostname: string): Region | null {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  for (const [pattern, provider] of hosts) {
    const region = pattern.exec(host)?.[1]
    if (region !== undefined) return { region, provider }
  }
  return null
}
