/** Member states of the European Economic Area: the EU, Iceland, Liechtenstein and Norway. Not Switzerland or the United Kingdom. */
export const eeaCountries: ReadonlySet<string> = new Set(
  'AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE IS LI NO'.split(' '),
)

/** Region → country (ISO 3166-1), or EU when the provider promises the European Union without naming a country. */
const countries = (byCountry: Record<string, string>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(byCountry).flatMap(([country, regions]) =>
      regions.split(' ').map((region) => [region, country] as const),
    ),
  )

/**
 * The countries of provider regions, from the providers' own lists. Regions that are not listed are unknown, because
 * names mislead: `eu-west-2` of AWS is London, `eu-central-2` of AWS is Zurich and that of IONOS is Berlin.
 */
export const regionsOf: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  // https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html
  [
    'aws',
    countries({
      DE: 'eu-central-1 eusc-de-east-1',
      CH: 'eu-central-2',
      IE: 'eu-west-1',
      GB: 'eu-west-2',
      FR: 'eu-west-3',
      SE: 'eu-north-1',
      IT: 'eu-south-1',
      ES: 'eu-south-2',
      US: 'us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1',
      CA: 'ca-central-1 ca-west-1',
      MX: 'mx-central-1',
      BR: 'sa-east-1',
      ZA: 'af-south-1',
      IL: 'il-central-1',
      BH: 'me-south-1',
      AE: 'me-central-1',
      IN: 'ap-south-1 ap-south-2',
      JP: 'ap-northeast-1 ap-northeast-3',
      KR: 'ap-northeast-2',
      SG: 'ap-southeast-1',
      AU: 'ap-southeast-2 ap-southeast-4',
      ID: 'ap-southeast-3',
      MY: 'ap-southeast-5',
      NZ: 'ap-southeast-6',
      TH: 'ap-southeast-7',
      HK: 'ap-east-1',
      TW: 'ap-east-2',
      CN: 'cn-north-1 cn-northwest-1',
    }),
  ],
  // https://cloud.google.com/compute/docs/regions-zones, https://cloud.google.com/storage/docs/locations. The
  // multi-region EU excludes London and Zurich. The dual regions EUR5, EUR7 and EUR8 include one of them and are not
  // listed.
  [
    'google',
    countries({
      EU: 'eu eur4',
      BE: 'europe-west1',
      GB: 'europe-west2',
      DE: 'europe-west3 europe-west10',
      NL: 'europe-west4',
      CH: 'europe-west6',
      IT: 'europe-west8 europe-west12',
      FR: 'europe-west9',
      FI: 'europe-north1',
      SE: 'europe-north2',
      PL: 'europe-central2',
      ES: 'europe-southwest1',
      US: 'us nam4 us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4',
      CA: 'northamerica-northeast1 northamerica-northeast2',
      MX: 'northamerica-south1',
      BR: 'southamerica-east1',
      CL: 'southamerica-west1',
      ZA: 'africa-south1',
      IL: 'me-west1',
      QA: 'me-central1',
      SA: 'me-central2',
      IN: 'asia-south1 asia-south2',
      SG: 'asia-southeast1',
      ID: 'asia-southeast2',
      TW: 'asia-east1',
      HK: 'asia-east2',
      JP: 'asia-northeast1 asia-northeast2',
      KR: 'asia-northeast3',
      AU: 'australia-southeast1 australia-southeast2',
    }),
  ],
  // https://learn.microsoft.com/azure/reliability/regions-list
  [
    'azure',
    countries({
      AT: 'austriaeast',
      BE: 'belgiumcentral',
      DK: 'denmarkeast',
      IE: 'northeurope',
      NL: 'westeurope',
      FR: 'francecentral francesouth',
      DE: 'germanywestcentral germanynorth',
      IT: 'italynorth',
      NO: 'norwayeast norwaywest',
      PL: 'polandcentral',
      ES: 'spaincentral',
      SE: 'swedencentral swedensouth',
      CH: 'switzerlandnorth switzerlandwest',
      GB: 'uksouth ukwest',
      US: 'centralus eastus eastus2 northcentralus southcentralus westcentralus westus westus2 westus3',
      CA: 'canadacentral canadaeast',
      MX: 'mexicocentral',
      BR: 'brazilsouth brazilsoutheast',
      CL: 'chilecentral',
      ZA: 'southafricanorth southafricawest',
      IL: 'israelcentral',
      QA: 'qatarcentral',
      AE: 'uaenorth uaecentral',
      IN: 'centralindia southindia westindia',
      SG: 'southeastasia',
      HK: 'eastasia',
      ID: 'indonesiacentral',
      MY: 'malaysiawest',
      JP: 'japaneast japanwest',
      KR: 'koreacentral koreasouth',
      AU: 'australiaeast australiasoutheast australiacentral australiacentral2',
      NZ: 'newzealandnorth',
    }),
  ],
  // https://developers.cloudflare.com/r2/reference/data-location/: a jurisdiction is guaranteed, a location hint
  // (weur, eeur) is not.
  ['cloudflare', countries({ EU: 'eu', US: 'fedramp' })],
  ['hetzner', countries({ DE: 'fsn1 nbg1', FI: 'hel1', US: 'ash hil', SG: 'sin' })],
  [
    'ovh',
    countries({
      FR: 'gra gra1 gra3 gra5 gra7 gra9 gra11 sbg sbg3 sbg5 sbg7 rbx rbx-a rbx-archive par eu-west-par eu-west-gra eu-west-sbg eu-west-rbx',
      DE: 'de de1 eu-west-lim',
      PL: 'waw waw1 eu-central-waw',
      IT: 'mil eu-south-mil',
      GB: 'uk uk1 eu-west-eri',
      CA: 'bhs bhs3 bhs5 ca-east-bhs ca-east-tor',
      SG: 'sgp sgp1 ap-southeast-sgp',
      AU: 'syd syd1 ap-southeast-syd',
      IN: 'ap-south-mum',
      US: 'us-east-va us-west-or',
    }),
  ],
  ['scaleway', countries({ FR: 'fr-par', NL: 'nl-ams', PL: 'pl-waw', IT: 'it-mil' })],
  [
    'digitalocean',
    countries({
      NL: 'ams2 ams3',
      DE: 'fra1',
      GB: 'lon1',
      US: 'nyc1 nyc2 nyc3 sfo1 sfo2 sfo3 atl1 ric1',
      CA: 'tor1',
      SG: 'sgp1',
      IN: 'blr1',
      AU: 'syd1',
    }),
  ],
  [
    'ionos',
    countries({ DE: 'de eu-central-1 eu-central-2 eu-central-3 eu-central-4', ES: 'eu-south-2', US: 'us-central-1' }),
  ],
  [
    'exoscale',
    countries({
      CH: 'ch-gva-2 ch-dk-2',
      DE: 'de-fra-1 de-muc-1',
      AT: 'at-vie-1 at-vie-2',
      BG: 'bg-sof-1',
      HR: 'hr-zag-1',
    }),
  ],
  [
    'upcloud',
    countries({
      FI: 'fi-hel1 fi-hel2',
      DE: 'de-fra1',
      NL: 'nl-ams1',
      SE: 'se-sto1',
      ES: 'es-mad1',
      PL: 'pl-waw1',
      DK: 'dk-cph1',
      NO: 'no-svg1',
      GB: 'uk-lon1',
      US: 'us-chi1 us-nyc1 us-sjo1',
      SG: 'sg-sin1',
      AU: 'au-syd1',
    }),
  ],
  ['otc', countries({ DE: 'eu-de', NL: 'eu-nl', CH: 'eu-ch2' })],
  // https://posthog.com/docs/privacy: PostHog Cloud EU is in Frankfurt.
  ['posthog', countries({ DE: 'eu', US: 'us' })],
])

/** Aliases of provider names. */
export const providerNames: ReadonlyMap<string, string> = new Map([
  ['amazon', 'aws'],
  ['gcp', 'google'],
  ['gcs', 'google'],
  ['microsoft', 'azure'],
  ['r2', 'cloudflare'],
  ['ovhcloud', 'ovh'],
  ['self', 'own'],
])
