import { expect, it } from 'vitest'
import { drawn } from '#lib/testing/planted-texts.ts'
import { scan } from './scanner.ts'

/** Values that resemble personal data or secrets and are none, made from the parts that published packages combine. */
const d = drawn(34)
const certain = (text: string) =>
  scan(text)
    .filter(({ confidence }) => confidence === undefined)
    .map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)
const found = (text: string, kind: string) =>
  scan(text).some((one) => one.kind === kind && one.confidence === undefined)
const some = (list: readonly string[]) => d.one(list)
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const words =
  'error client connection protocol session listener certificate header buffer transport callback request'.split(' ')
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

it('names of tests are no keys, and random texts with the same prefix are', () => {
  for (let round = 0; round < 200; round += 1) {
    const name = `test_${some(words)}${capital(some(words))}${some(['SSL', 'UID', 'IPv4', 'And', 'Of'])}${capital(some(words))}${capital(some(words))}${capital(some(words))}`
    expect([name, certain(`def ${name}(self):`)]).toEqual([name, []])
  }
  let missed = 0
  for (let round = 0; round < 200; round += 1)
    if (!found(`key test_${d.signs(35, base62)} used`, 'api_key')) missed += 1
  expect(missed).toBe(0)
})

it('algorithms and extensions of SSH are no email addresses', () => {
  for (const host of ['openssh.com', 'libssh.org', 'ssh.com'])
    for (const name of [
      'sk-ssh-ed25519',
      'curve25519-sha256',
      'hmac-sha2-256-etm',
      'ssh-rsa-cert-v01',
      'zlib',
      'keepalive',
      'umac-64-etm',
    ])
      expect(certain(`kex: ${name}@${host},aes256-gcm@openssh.com`)).toEqual([])
})

it('finds values that look like code, versions or placeholders', () => {
  const kinds = (text: string) => scan(text).map(({ kind, confidence }) => `${kind} ${confidence === undefined}`)
  for (const written of ['= ")kX29!pQz7Lm"', '= "]kX29!pQz7Lm"', '= ",kX29!pQz7Lm"', ': kai!=Xw29', ': ANNA-1984']) {
    const text = `password${written}`
    expect([text, kinds(text)]).toEqual([text, ['api_key true']])
  }
  for (const text of ['Telefon: 600 700 800', '张三 **13912345678**', '13912345670/张三', "t: '030 12345 67'"])
    expect([text, kinds(text).length]).toEqual([text, 1])
  for (const text of [
    'visitor with app version 3 from 5.9.12.200',
    '5.9.12.200 logged in',
    'Maria logged in 5.9.12.200',
    'edge: 81.2.69.142',
  ])
    expect([text, kinds(text)]).toEqual([text, ['ip true']])
  for (const text of ['maria.huber@mail.com', 'maria@x.com', 'anna-lena@ssh.com'])
    expect([text, kinds(text)]).toEqual([text, ['email true']])
})

it('versions after names of products are no IP addresses, and addresses after words for hosts are', () => {
  for (const product of [
    'SQLite',
    'Perl',
    'ICU',
    'OpenSSL',
    'Requires',
    'gem',
    'supported since',
    "version(s) start from '",
  ])
    for (let round = 0; round < 20; round += 1) {
      const parts = [d.below(90), d.below(20), d.below(20), d.below(20)]
      expect(certain(`Update ${product} ${parts.join('.')} now`)).toEqual([])
    }
  for (const browser of ['Chromium', 'Safari']) expect(certain(`${browser} 124.0.247.97`)).toEqual([])
  expect(certain('M.44 2.541c.657.716 1.492 1.27 2.503 1.664 1.01.393 2.223.59 3.64.59.97 0 1.854')).toEqual([])
  for (const host of ['ssh root@', 'scp a.txt joe@', 'client ', 'Server ', 'ip=', 'from ', 'Gateway ('])
    for (const address of ['84.23.11.9', '5.42.2.18', '3.120.44.18'])
      expect([host, found(`${host}${address}`, 'ip')]).toEqual([host, true])
})

it.each([
  `h("label",{htmlFor:"password"},"Password:"),N?i.createElement("code",null," ****** "):x`,
  'var pw=ho?ho.isBuffer:e,x',
  'uses the LDAP Password Modify Extended Operation (RFC-3062).',
  '<vcenter-password> esxi_hosts=x',
  'KEY_PASSPHRASE = "testkeypassphrase"\nGPG_TEST_KEY_ID = "7416F045"\n',
  JSON.stringify(['ghost', 'password', `passw${0}rd`]),
  'TotalPhysicalMemory = 17078214656',
  'telephoneNumber: 555-123456',
  'the formal syntax of RFC 3501::',
  String.raw`{ "password": "Contrase\u00f1a", "api_key": "API-Schl\u00fcssel" }`,
  'this.shadowPass=e.overrideMaterial!==null&&x',
  'snyk cos finding list --scan-id=f3a8c2d1-4b5e-6f7a-8b9c-0d1e2f3a4b5c',
  '"id": "to-list-all-of-the-secret-versions-associated-with-a-secret-1524000999164"',
  'def test_lambdify_Derivative_arg_issue_16468():',
  `mysql://${'airflow:'.repeat(2).slice(0, -1)}@localhost:3306/airflow`,
  'https://arxiv.org/abs/math-ph/0402063',
  '"Value": "14260633600"',
  '+ 4076350421*x**36 - 13340783196*x**35',
  "r'git@github.com:a/b' and 5@OO.YQ",
])('%j contains no certain value', (text) => {
  expect(certain(text)).toEqual([])
})

it.each([
  ['htpasswd -b /etc/users joe §', 'api_key'],
  ['htpasswd -nbB joe §', 'api_key'],
  ['wpa_passphrase home § > wpa.conf', 'api_key'],
  [String.raw`net use Z: \\srv\share § /user:joe`, 'api_key'],
  ['nmcli dev wifi connect Home password §', 'api_key'],
  ['echo § | sudo -S ls', 'api_key'],
  ["echo '§' | docker login -u joe --password-stdin", 'api_key'],
  ['useradd -m -p § joe', 'api_key'],
  ['the API key is §§§', 'api_key'],
  ['let token = Some("§§§");', 'api_key'],
  ['let password = String::from("§");', 'api_key'],
  ['bob[at]mail.dotcom.org', 'email'],
  ['ann.lee (at) mail (dot) dotcom (dot) org', 'email'],
  ['bob {at} dotcom dot org', 'email'],
  ['ana (arroba) dotcom (punto) es', 'email'],
])('%j with a random value contains one', (form, kind) => {
  const text = form.replace(/§/g, () => `${d.signs(1, 'ABCDEF')}${d.signs(5, 'bcdfghjk')}${d.signs(2, '23456789')}x`)
  expect(found(text, kind)).toBe(true)
})

it('a hidden @ needs a name and a domain', () => {
  for (const text of [
    'look (at) this',
    'x[at] = 3',
    'array[at].length',
    'see (at) file.json',
    '(at) example.com',
    'meet (at) noon',
  ])
    expect(certain(text)).toEqual([])
})
