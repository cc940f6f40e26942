import { expect, it } from 'vitest'
import { drawn } from '#lib/testing/planted-texts.ts'
import { scan } from './scanner.ts'

/** Random keys in the forms of their vendors, and private keys in other forms than PEM. */
const d = drawn(72)
const B = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const H = '0123456789abcdef'
const L = 'abcdefghijklmnopqrstuvwxyz0123456789'
const U = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const W = `${B}_-`
const s = (count: number, alphabet = B) => d.signs(count, alphabet)
const b64 = (count: number) => Buffer.from(d.bytes(count)).toString('base64')
const url = (count: number) => Buffer.from(d.bytes(count)).toString('base64url')
const uuid = () => `${s(8, H)}-${s(4, H)}-4${s(3, H)}-a${s(3, H)}-${s(12, H)}`
const forms: Record<string, () => string> = {
  resend: () => `re_${s(8)}_${s(24)}`,
  dropbox: () => `sl.u.${s(130, W)}`,
  dropboxOld: () => `sl.B${s(134, W)}`,
  snowflakePat: () => `snowflake_pat=${url(90)}`,
  asana: () => `2/${s(16, '123456789')}/${s(16, '123456789')}:${s(32, H)}`,
  asana1: () => `1/${s(16, '123456789')}:${s(32, H)}`,
  clickup: () => `pk_${s(8, '123456789')}_${s(32, U)}`,
  ngrok: () => `2${s(26)}_${s(21)}`,
  discord: () => `${Buffer.from(s(18, '123456789')).toString('base64').replace(/=/g, '')}.G${s(5)}.${s(38, W)}`,
  newrelicU: () => `NRAK-${s(27, U)}`,
  infura: () => `https://mainnet.infura.io/v3/${s(32, H)}`,
  alchemy: () => `https://eth-mainnet.g.alchemy.com/v2/${s(32, W)}`,
  quicknode: () => `https://cool-dawn.quiknode.pro/${s(40, H)}/`,
  ghpat: () => `github_pat_${s(22)}_${s(59)}`,
  ghs: () => `ghs_${s(36)}`,
  gitlabRunner: () => `glrt-${s(20)}`,
  gitlabDeploy: () => `gldt-${s(20)}`,
  glcbt: () => `glcbt-64_${s(20)}`,
  openai: () => `sk-${s(20)}T3BlbkFJ${s(20)}`,
  openaiAdmin: () => `sk-admin-${s(58, W)}T3BlbkFJ${s(58, W)}`,
  openaiSvc: () => `sk-svcacct-${s(74)}T3BlbkFJ${s(74)}`,
  anthropicAdmin: () => `sk-ant-admin01-${s(93, W)}AA`,
  openrouter: () => `sk-or-v1-${s(64, H)}`,
  perplexity: () => `pplx-${s(48)}`,
  xai: () => `xai-${s(80)}`,
  deepseek: () => `DEEPSEEK_API_KEY=sk-${s(32, H)}`,
  mistral: () => `MISTRAL_API_KEY=${s(32)}`,
  cohere: () => `COHERE_API_KEY=${s(40)}`,
  fireworks: () => `fw_${s(24)}`,
  together: () => `TOGETHER_API_KEY=${s(64, H)}`,
  langsmith: () => `lsv2_pt_${s(32, H)}_${s(10, H)}`,
  langfuse: () => `sk-lf-${uuid()}`,
  langfusePk: () => `LANGFUSE_SECRET_KEY=sk-lf-${uuid()}`,
  wandb: () => `WANDB_API_KEY=${s(40, H)}`,
  elevenlabs: () => `sk_${s(48, H)}`,
  pinecone: () => `pcsk_${s(6)}_${s(63)}`,
  pineconeOld: () => `PINECONE_API_KEY=${uuid()}`,
  qdrant: () => `QDRANT_API_KEY=${s(50, W)}`,
  tavily: () => `tvly-${s(32)}`,
  tavilyDev: () => `tvly-dev-${s(32)}`,
  exa: () => `EXA_API_KEY=${uuid()}`,
  serper: () => `SERPER_API_KEY=${s(40, H)}`,
  firecrawl: () => `fc-${s(32, H)}`,
  e2b: () => `e2b_${s(40, H)}`,
  composio: () => `COMPOSIO_API_KEY=ak_${s(20)}`,
  awsTemp: () => `ASIA${s(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`,
  bedrock: () => `ABSK${b64(96).slice(0, 128)}`,
  awsSecret: () => `aws_secret_access_key = ${s(40, `${B}/+`)}`,
  awsSession: () => `AWS_SESSION_TOKEN=IQoJb3JpZ2luX2Vj${b64(300).slice(0, 400)}`,
  gcpOauth: () => `ya29.${s(120, W)}`,
  gcpClient: () => `GOCSPX-${s(28, W)}`,
  azStorage: () => `AccountKey=${b64(64)}`,
  azSas: () => `https://x.blob.core.windows.net/c?sv=2022-11-02&sig=${encodeURIComponent(b64(32))}&se=2027`,
  azOpenai: () => `AZURE_OPENAI_API_KEY=${s(32, H)}`,
  doToken: () => `doo_v1_${s(64, H)}`,
  linode: () => `LINODE_TOKEN=${s(64, H)}`,
  hcloud: () => `HCLOUD_TOKEN=${s(64)}`,
  vultr: () => `VULTR_API_KEY=${s(36, U)}`,
  ovh: () => `OVH_APPLICATION_SECRET=${s(32)}`,
  scaleway: () => `SCW_SECRET_KEY=${uuid()}`,
  cloudflare: () => `CLOUDFLARE_API_TOKEN=${s(40, W)}`,
  cfCa: () => `v1.0-${s(24, H)}-${s(146, H)}`,
  fastly: () => `FASTLY_API_TOKEN=${s(32, W)}`,
  fly: () => `FlyV1 fm2_${b64(400)}`,
  flyfo1: () => `fo1_${s(43, W)}`,
  render: () => `rnd_${s(28)}`,
  railway: () => `RAILWAY_TOKEN=${uuid()}`,
  vercel: () => `VERCEL_TOKEN=${s(24)}`,
  netlify: () => `nfp_${s(40)}`,
  heroku: () => `HEROKU_API_KEY=${uuid()}`,
  supabase: () => `sbp_${s(40, H)}`,
  supabaseSecret: () => `sb_secret_${s(22, W)}_${s(8)}`,
  neon: () => `napi_${s(64, L)}`,
  planetscale: () => `pscale_tkn_${s(43, W)}`,
  planetscalePw: () => `pscale_pw_${s(43, W)}`,
  turso: () => `TURSO_AUTH_TOKEN=eyJ${s(30)}.eyJ${s(40)}.${s(86, W)}`,
  upstash: () => `UPSTASH_REDIS_REST_TOKEN=AX${s(50)}`,
  mongodbAtlas: () => `mongodb+srv://app:${s(16)}@cluster0.ab1cd.mongodb.net/x`,
  redis: () => `rediss://default:${s(32)}@x.upstash.io:6379`,
  stripeRk: () => `rk_live_${s(24)}`,
  stripeWh: () => `whsec_${s(32)}`,
  square: () => `EAAA${s(60, W)}`,
  squareSec: () => `sq0csp-${s(43, W)}`,
  paypal: () => `access_token$production$${s(16, L)}$${s(32, H)}`,
  razorpay: () => `rzp_live_${s(14)}`,
  razorSecret: () => `RAZORPAY_KEY_SECRET=${s(24)}`,
  plaid: () => `access-production-${uuid()}`,
  shopifySec: () => `shpss_${s(32, H)}`,
  shopifyApp: () => `shpua_${s(32, H)}`,
  twilioKey: () => `SK${s(32, H)}`,
  twilioAuth: () => `TWILIO_AUTH_TOKEN=${s(32, H)}`,
  sendgrid: () => `SG.${s(22, W)}.${s(43, W)}`,
  mailgun: () => `key-${s(32, H)}`,
  mailchimp: () => `${s(32, H)}-us21`,
  postmark: () => `POSTMARK_SERVER_TOKEN=${uuid()}`,
  brevo: () => `xkeysib-${s(64, H)}-${s(16)}`,
  slackApp: () => `xapp-1-A${s(10, U)}-${s(13, '123456789')}-${s(64, H)}`,
  slackUser: () => `xoxp-${s(12, '123456789')}-${s(12, '123456789')}-${s(12, '123456789')}-${s(32, H)}`,
  slackHook: () => `https://hooks.slack.com/services/T${s(9, U)}/B${s(10, U)}/${s(24)}`,
  discordHook: () => `https://discord.com/api/webhooks/${s(18, '123456789')}/${s(68, W)}`,
  teams: () => `https://acme.webhook.office.com/webhookb2/${uuid()}@${uuid()}/IncomingWebhook/${s(32, H)}/${uuid()}`,
  telegram: () => `${s(10, '123456789')}:AA${s(33, W)}`,
  line: () => `LINE_CHANNEL_SECRET=${s(32, H)}`,
  npm: () => `npm_${s(36)}`,
  pypi: () => `pypi-AgEIcHlwaS5vcmc${s(150, W)}`,
  rubygems: () => `rubygems_${s(48, H)}`,
  nuget: () => `oy2${s(43, 'abcdefghijklmnop234567')}`,
  crates: () => `cio${s(32)}`,
  docker: () => `dckr_pat_${s(27, W)}`,
  dockerOrg: () => `dckr_oat_${s(32, W)}`,
  jfrog: () => `AKCp${s(69)}`,
  jfrogRef: () => `cmVmdGtu${s(56)}`,
  circleci: () => `CCIPAT_${s(22)}_${s(40, H)}`,
  buildkite: () => `bkua_${s(40, H)}`,
  travis: () => `TRAVIS_TOKEN=${s(22)}`,
  sonar: () => `sqp_${s(40, H)}`,
  sonarSqu: () => `squ_${s(40, H)}`,
  snyk: () => `SNYK_TOKEN=${uuid()}`,
  codecov: () => `CODECOV_TOKEN=${uuid()}`,
  terraform: () => `${s(14)}.atlasv1.${s(67, W)}`,
  pulumi: () => `pul-${s(40, H)}`,
  vaultBatch: () => `hvb.${s(140, W)}`,
  vaultRecovery: () => `hvr.${s(95, W)}`,
  doppler: () => `dp.st.prd.${s(43)}`,
  onepassword: () => `ops_eyJ${s(260)}`,
  infisical: () => `st.${s(24, H)}.${s(32, H)}.${s(32, H)}`,
  ageKey: () => `AGE-SECRET-KEY-1${s(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}`,
  tailscale: () => `tskey-api-${s(12)}CNTRL-${s(32)}`,
  tailscaleAuth: () => `tskey-auth-${s(12)}CNTRL-${s(32)}`,
  datadog: () => `DD_API_KEY=${s(32, H)}`,
  datadogApp: () => `DD_APP_KEY=${s(40, H)}`,
  grafanaCloud: () => `glc_eyJ${s(110)}=`,
  sentryOrg: () => `sntrys_eyJ${s(100)}_${s(43)}`,
  honeycomb: () => `hcaik_01${s(56, L)}`,
  pagerduty: () => `PAGERDUTY_TOKEN=u+${s(18, W)}`,
  opsgenie: () => `OPSGENIE_API_KEY=${uuid()}`,
  rollbar: () => `ROLLBAR_ACCESS_TOKEN=${s(32, H)}`,
  posthog: () => `phx_${s(43)}`,
  amplitude: () => `AMPLITUDE_SECRET_KEY=${s(32, H)}`,
  segment: () => `sgp_${s(64)}`,
  mixpanel: () => `MIXPANEL_SECRET=${s(32, H)}`,
  launchdarkly: () => `sdk-${uuid()}`,
  ldApi: () => `api-${uuid()}`,
  algolia: () => `ALGOLIA_ADMIN_KEY=${s(32, H)}`,
  notionOld: () => `secret_${s(43)}`,
  linear: () => `lin_api_${s(40)}`,
  linearOauth: () => `lin_oauth_${s(64, H)}`,
  jira: () => `ATATT3xFfGF0${s(170, W)}=${s(8, '0123456789ABCDEF')}`,
  bitbucket: () => `ATBB${s(32)}`,
  bbAcc: () => `ATCTT3xFfGN0${s(170, W)}=${s(8, '0123456789ABCDEF')}`,
  figma: () => `figd_${s(40, W)}`,
  figmaOauth: () => `figu_${s(40, W)}`,
  airtable: () => `pat${s(14)}.${s(64, H)}`,
  hubspot: () => `pat-na1-${uuid()}`,
  hubspotEu: () => `pat-eu1-${uuid()}`,
  salesforce: () => `00D${s(12)}!AQ${s(94, W)}`,
  zendesk: () => `ZENDESK_TOKEN=${s(40)}`,
  intercom: () => `dG9rO${s(54)}=`,
  typeform: () => `tfp_${s(44, W)}`,
  calendly: () => `CALENDLY_TOKEN=eyJ${s(30)}.eyJ${s(60)}.${s(43, W)}`,
  monday: () => `MONDAY_API_TOKEN=eyJ${s(20)}.eyJ${s(90)}.${s(43, W)}`,
  contentful: () => `CFPAT-${s(43, W)}`,
  storyblok: () => `STORYBLOK_TOKEN=${s(22)}tt`,
  webflow: () => `WEBFLOW_TOKEN=${s(64, H)}`,
  mapbox: () => `sk.eyJ${s(80)}.${s(22, W)}`,
  google: () => `AIza${s(35, W)}`,
  firebase: () => `AAAA${s(7, W)}:APA91b${s(134, W)}`,
  fbToken: () => `EAA${s(170)}`,
  twitter: () => `AAAAAAAAAAAAAAAAAAAAA${s(80)}`,
  instagram: () => `IGQ${s(140, W)}`,
  tiktok: () => `act.${s(60)}!4${s(5)}.va`,
  linkedin: () => `LINKEDIN_CLIENT_SECRET=${s(16)}`,
  spotify: () => `SPOTIFY_CLIENT_SECRET=${s(32, H)}`,
  twitch: () => `oauth:${s(30, L)}`,
  zoom: () => `ZOOM_CLIENT_SECRET=${s(32)}`,
  okta: () => `SSWS 00${s(40, W)}`,
  auth0: () => `AUTH0_CLIENT_SECRET=${s(64, W)}`,
  clerk: () => `sk_live_${s(40)}`,
  workos: () => `sk_live_${b64(60).replace(/[+/=]/g, 'a')}`,
  stytch: () => `secret-live-${s(36, W)}=`,
  databricks: () => `dapi${s(32, H)}`,
  databricks2: () => `dapi${s(32, H)}-2`,
  dbt: () => `dbtc_${s(40, W)}`,
  prefect: () => `pnu_${s(36)}`,
  astronomer: () => `ASTRO_API_TOKEN=eyJ${s(20)}.eyJ${s(80)}.${s(43, W)}`,
  confluent: () => `CONFLUENT_CLOUD_API_SECRET=${s(64, `${B}/+`)}`,
  elasticKey: () => `Authorization: ApiKey ${b64(45)}`,
  kafka: () =>
    `sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="${s(20)}";`,
  artifactory: () => `X-JFrog-Art-Api: AKCp8${s(68)}`,
  readme: () => `rdme_${s(70, L)}`,
  postman: () => `PMAK-${s(24, H)}-${s(34, H)}`,
  gumroad: () => `GUMROAD_ACCESS_TOKEN=${s(43, W)}`,
  lemon: () => `LEMONSQUEEZY_API_KEY=eyJ${s(20)}.eyJ${s(80)}.${s(43, W)}`,
  coinbase: () => `COINBASE_API_SECRET=${s(32)}`,
  kraken: () => `KRAKEN_SECRET=${b64(64)}`,
  binance: () => `BINANCE_SECRET_KEY=${s(64)}`,
  etherscan: () => `ETHERSCAN_API_KEY=${s(34, U)}`,
  helius: () => `https://mainnet.helius-rpc.com/?api-key=${uuid()}`,
  // private keys not PEM
  jwk: () => JSON.stringify({ kty: 'EC', crv: 'P-256', x: url(32), y: url(32), d: url(32) }),
  jwkRsa: () => JSON.stringify({ kty: 'RSA', n: url(256), e: 'AQAB', d: url(256) }),
  jwkOct: () => JSON.stringify({ kty: 'oct', k: url(32) }),
  wg: () => `[Interface]\nPrivateKey = ${b64(31).slice(0, 42)}8=\nAddress = 10.0.0.2/24`,
  putty: () =>
    `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 2\n${b64(48)}\nPrivate-Lines: 1\n${b64(33)}\nPrivate-MAC: ${s(64, H)}`,
  ssh2: () =>
    `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${b64(48)}\n${b64(48)}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----`,
  xmlRsa: () =>
    `<RSAKeyValue><Modulus>${b64(128)}</Modulus><Exponent>AQAB</Exponent><P>${b64(64)}</P><D>${b64(128)}</D></RSAKeyValue>`,
  minisign: () => `untrusted comment: minisign encrypted secret key\nRWRTY0Iy${s(200, `${B}/+`)}`,
  nostr: () => `nsec1${s(58, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l')}`,
  libp2p: () => `"PrivKey": "CAESQ${s(87, `${B}/+`)}"`,
  dnssec: () => `Private-key-format: v1.3\nAlgorithm: 13 (ECDSAP256SHA256)\nPrivateKey: ${b64(32)}`,
  sshb64: () => `b3BlbnNzaC1rZXktdjEA${b64(200)}`,
  pemOneLine: () => `"private_key": "-----BEGIN PRIVATE KEY-----\\n${b64(100)}\\n-----END PRIVATE KEY-----\\n"`,
  pkcs8b64: () => `privateKey: MIIE${'vQIBADAN'}BgkqhkiG9w0BAQEFAASC${b64(400)}`,
  gpg: () => `-----${'BEGIN'} PGP PRIVATE KEY BLOCK-----\n\n${b64(48)}\n=${s(4)}\n-----END PGP PRIVATE KEY BLOCK-----`,
  ed25519hex: () => `ed25519_private_key: ${s(64, H)}`,
  tink: () =>
    `{"key":[{"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmKey","value":"${b64(34)}","keyMaterialType":"SYMMETRIC"}}]}`,
  sops: () => `AGE-SECRET-KEY-1${s(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}`,
  tor: () => `== ed25519v1-secret: type0 ==\n${b64(64)}`,
}

it('finds keys of vendors and private keys in other forms than PEM', () => {
  const missed: string[] = []
  const rounds = 3
  for (const [name, make] of Object.entries(forms))
    for (let round = 0; round < rounds; round++) {
      const key = make()
      const kinds = scan(`Config:\n${key}\nend`).map(({ kind }) => kind)
      if (!kinds.includes('api_key') && !kinds.includes('private_key')) missed.push(name)
    }
  const share = 1 - missed.length / (Object.keys(forms).length * rounds)
  expect({ isEnough: share >= 0.98, missed }).toMatchObject({ isEnough: true })
})

const issuers: [issuer: string, prefixes: string[], lengths: number[]][] = [
  ['visa', ['4'], [13, 16, 19]],
  ['mc', ['51', '52', '53', '54', '55', '2221', '2300', '2720'], [16]],
  ['amex', ['34', '37'], [15]],
  ['diners', ['300', '305', '36', '38', '3095', '39'], [14, 16]],
  ['discover', ['6011', '644', '65', '622126'], [16, 19]],
  ['jcb', ['3528', '3589', '1800', '2131'], [15, 16]],
  ['unionpay', ['62', '81'], [16, 17, 18, 19]],
  [
    'maestro',
    ['5018', '5020', '5038', '5893', '6304', '6759', '6761', '6762', '6763', '0604', '6390'],
    [12, 13, 14, 15, 16, 17, 18, 19],
  ],
  ['mir', ['2200', '2204'], [16]],
  ['elo', ['506699', '509000', '636368', '504175'], [16]],
  ['hiper', ['606282', '637095'], [16]],
  ['troy', ['9792'], [16]],
  ['rupay', ['60', '6521', '8172', '508500'], [16]],
  ['verve', ['506099', '650002'], [16, 18, 19]],
  ['interpay', ['636'], [16, 19]],
  ['dankort', ['5019', '4571'], [16]],
  ['uatp', ['1354'], [15]],
  ['instapay', ['637'], [16]],
  ['lankapay', ['357111'], [16]],
  ['bc', ['94'], [16]],
  ['uzcard', ['8600'], [16]],
  ['humo', ['9860'], [16]],
  ['naranja', ['589562'], [16]],
  ['cabal', ['604201'], [16]],
]
function withCheckDigit(body: string): string {
  for (let check = 0; check < 10; check++) {
    const digits = `${body}${check}`
    let sum = 0
    for (let at = digits.length - 1, place = 0; at >= 0; at--, place++) {
      const value = Number(digits[at]) * (place % 2 === 1 ? 2 : 1)
      sum += value > 9 ? value - 9 : value
    }
    if (sum % 10 === 0) return digits
  }
  return body
}
const parts = (digits: string, ends: readonly number[]): string[] =>
  [...ends, digits.length].map((end, at) => digits.slice(ends[at - 1] ?? 0, end))
const groupings: ((digits: string) => string[])[] = [
  (digits) => [digits],
  (digits) => digits.match(/.{1,4}/g) ?? [],
  (digits) =>
    digits.length < 16 && digits.length > 13
      ? parts(digits, [4, 10])
      : digits.length === 19
        ? parts(digits, [6])
        : [digits],
]
const leads = [
  'Card number: ',
  'Kreditkarte ',
  'Carte bancaire : ',
  'tarjeta ',
  'cartão ',
  'карта ',
  '卡号：',
  'カード番号：',
  'PAN=',
]
it('finds the card numbers of all issuers after a word for a card', () => {
  const missed: string[] = []
  let all = 0
  for (const [, prefixes, lengths] of issuers)
    for (const prefix of prefixes)
      for (const length of lengths)
        for (const group of groupings)
          for (const sign of [' ', '-', '.', '\u00a0']) {
            const body = prefix + d.signs(length - 1 - prefix.length, '0123456789').replace(/0{3,}/g, '123')
            const written = group(withCheckDigit(body)).join(sign)
            const text = `${d.one(leads)}${written}.`
            all += 1
            const found = scan(text).some(
              ({ kind, start, end, confidence }) =>
                kind === 'card' && !confidence && text.slice(start, end) === written,
            )
            if (!found) missed.push(text)
          }
  expect(all).toBeGreaterThan(900)
  expect({ isEnough: missed.length <= all * 0.02, missed }).toMatchObject({ isEnough: true })
})
