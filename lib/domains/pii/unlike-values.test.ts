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
    'Updated the A record to 84.23.11.9',
    'migrated the host from 84.23.11.9 to another one',
    'Upgraded from 84.23.11.9 to TLS',
    'updated firewall -> 5.9.12.4',
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
  'a=t+(s^r&(i^s))+n[0]+3614090360&4294967295;a=(r=(i=(s=(t=(r=(',
  String.raw`"en-PR": "\xa4#,##0.00", "en-PW": "\xa4#,##0.00;(\xa4#,##0.00)", "mk": "#,##0.00\xa0\xa4"`,
  '"en-PN": "en-001", "en-PW": "en-001"',
  '"1F1F2-1F1ED":"flag_mh","1F1F2-1F1F0":"flag_mk","1F1F2-1F1F1":"flag_ml"',
  'for(;MK<123;)AK[MK]=kK,MK++,MK===58?MK=65:MK===91&&(MK=97)',
  `t.renderPass?this._stats.verticesInShadowPass=${'0:this._stats.verticesInTransparentPass='}0)`,
  "['u_first_pass']: Uniform1i; ['u_matrix_pass']: UniformMatrix4f;",
  'exports.AirtableOAuth2Api = AirtableOAuth2Api;',
  'utils:{randomPrivateKey:t.secp256k1.utils.randomPrivateKey,lift_x:x}',
  `MLKEM768X25519PrivateKey = ${'rust_openssl.hpke.'}MLKEM768X25519PrivateKey`,
  '"reset_password": "20/m/ip,5/m/key"',
  'msgstr "Δεν βρέθηκε κουπόνι με κωδικό \'%(code)s\'"',
  'azureservicebus://SAS_POLICY_NAME:SAS_KEY@SERVICE_BUSNAMESPACE',
  'BACKUP_LOCK_KEY = 0x5745424C415445',
  'keyserver: pks/lookup?op=get&search=0x36a1d7869245c8950f966e92d8576a8ba88d21e9',
  ';;;3762:114;;;:::o;2391:304::-;2509:7;2495:4;432:13;',
  ':12;:18::i;:::-;387:27;;;;;;2986:15:16::1;3015:14:::0;3043:17:::1',
  '// getting tag from 19.1.3.6 Object.prototype.toString()',
  'see the HTML5 spec (13.2.5.73 Named character reference state)',
  'update ip-address to 9.0.5.1',
  'Upgrade dns-packet to 1.3.4.0',
  'call stack 0012345',
  'the call trace 0401234567',
  `stripe.api_key = "sk_${'test'}_4eC39HqLyjWDarjtT1zdp7dc"`,
  'password policy of 8 characters, Password Rules2! in the manual',
  ...['Step1!Next', 'React18@Beta', 'Policy2024!', 'SHA256+Salt1'].map(
    (value) => `Change password ${value} to continue`,
  ),
  'https://us.battle.net/en/forum/topic/13979297799',
  'dependencies = [("weblate_auth", "0009_teammembership"), ("weblate_auth", "0001_initial")]',
  'let e=this.hot.getSettings()[pw];return!0===e',
  'pw = 2.0**self.frac_bits',
  `" password=${'%PPP_PAP_Request.'}password%"`,
  '"passport", "password", "password_2", "password_2_off", "patient_list"',
  '"cccccc969696525252","f7f7f7cccccc969696636363252525","f7f7f7"',
  'The CIN was created by Law 14.534/2023. Telefone: Lei 14.534/2023',
  'POSTAL_ADDRESS = ObjectIdentifier("2.5.4.16")',
  ...'test__EventCollection__switch_orientation_2x test_killRequestedWithPIDFileNotAnInt test_disconnectHYBRID_INIT_invalidX25519Key test_validIPv4HeaderResolves_getPeerHost'
    .split(' ')
    .map((name) => `def ${name}(self):`),
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
  ['set -x DB_PASSWORD §', 'api_key'],
  ['username joe privilege 15 password 0 §', 'api_key'],
  ['enable password 5 §', 'api_key'],
  ['net user joe § /add', 'api_key'],
  ['lftp -u joe,§ ftp.dotcom.org', 'api_key'],
  ['ncftpput -u joe -p § ftp.dotcom.org /', 'api_key'],
  ['winexe -U joe%§ //host cmd', 'api_key'],
  ['neo4j-admin dbms set-initial-password §', 'api_key'],
  ['kinit joe@REALM <<< §', 'api_key'],
  [String.raw`expect "assword:" { send "§\r" }`, 'api_key'],
  ['db.dotcom.org:5432:shop:joe:§', 'api_key'],
  [String.raw`{\u0022password\u0022:\u0022§\u0022}`, 'api_key'],
  [String.raw`"{\r\n  \"password\": \"§\"\r\n}"`, 'api_key'],
  ['bob[at]mail.dotcom.org', 'email'],
  ['ann.lee (at) mail (dot) dotcom (dot) org', 'email'],
  ['bob {at} dotcom dot org', 'email'],
  ['ana (arroba) dotcom (punto) es', 'email'],
  ['write to bob at dotcom dot net today', 'email'],
  ['j.smith AT mailbox DOT org', 'email'],
  ['anna_b at mail dot dotcom dot de', 'email'],
  ['send it by email to anna at dotcom dot dev', 'email'],
])('%j with a random value contains one', (form, kind) => {
  const text = form.replace(/§/g, () => `${d.signs(1, 'ABCDEF')}${d.signs(5, 'bcdfghjk')}${d.signs(2, '23456789')}x`)
  expect(found(text, kind)).toBe(true)
})

it.each([
  ['We migrated the API from 5.9.12.4 to 5.9.13.7', ['5.9.12.4', '5.9.13.7']],
  ['Our VPN was migrated from 5.9.1.4 → 5.9.1.7', ['5.9.1.4', '5.9.1.7']],
  ['upgraded the firewall from 5.9.1.4 to 91.2.3.4', ['5.9.1.4']],
])('%j contains addresses of hosts', (text, addresses) => {
  expect(certain(text)).toEqual(expect.arrayContaining(addresses.map((address) => `ip ${address}`)))
})

it.each(['the wifi password §!', 'Şifre §!', 'пароль от wifi §!'])(
  '%j, which has neither a colon nor a verb, is found with low confidence',
  (form) => {
    const text = form.replace('§', `${d.signs(1, 'ABCDEF')}${d.signs(5, 'bcdfghjk')}${d.signs(2, '23456789')}x`)
    expect(scan(text)).toMatchObject([{ kind: 'api_key', confidence: 'low' }])
  },
)

it('finds the whole password when it contains the letters of a verb', () => {
  for (const value of ['Winter_366cby!', 'Summer#121ygj?', 'Kaiser406yzf?', 'Museum_2024ist'])
    for (const lead of ['salasana - ', 'password - ', 'hasło - ', 'mật khẩu - ']) {
      const text = lead + value
      expect(certain(text)).toEqual([`api_key ${value}`])
    }
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

it('finds no spelled-out email address (`name at host dot com`) without a name and a top-level domain', () => {
  for (const text of [
    'visit us at dotcom dot org',
    'look at the dot com boom',
    'Peter works at Dotcom dot com',
    'meet at dot 3',
    'x at p dot q is a product',
    'point at a dot in the plane',
    'the docs are at dotcom dot io',
    'the value at node dot name is read',
    'a glance at user dot id shows it',
    'the key at config dot app wins',
  ])
    expect(certain(text)).toEqual([])
})

/** What files of messages, styles, tests and settings assign to a name for a password or a key. */
const standIns = {
  placeholders: () => {
    const id = d.below(90_000)
    return some([
      `crwdns${id}:0crwdne${id}:0`,
      `crwdns${id}-1:0{0}crwdne${id}-1:0`,
      `%(code${d.below(9)})s`,
      `i18n:password${d.below(9)}`,
    ])
  },
  patterns: () =>
    some(['#,##0.00', '#,##0.###', '(#,##0.00)', '^[A-Z0-9]+$', '^(?=.*[A-Z]).{8,}$', 'a-zA-Z0-9_-', 'A-Za-z0-9']),
  rules: () => `required|min:${d.below(9) + 1}|max:${d.below(90) + 10}`,
  styles: () =>
    some([
      `text-gray-${d.below(9) + 1}00`,
      `calc(100%-${d.below(9)}px)`,
      `rgba(0,0,0,.${d.below(9)})`,
      `icon-${d.below(90) + 10}`,
      'lock_24px',
    ]),
  types: () =>
    some(['ISO-8859-1', 'windows-1252', '3des-cbc', 'application/json;v=1', `msg_00${d.below(90) + 10}_pwd`]),
  limits: () => `${d.below(90) + 1}/m/ip,${d.below(9) + 1}/m/key`,
  migrations: () => `00${d.below(90) + 10}_${some(words)}_${some(words)}`,
  'code points': () => `1F${d.below(900) + 100}-FE0F`,
  accents: () => some(['Ṗåşşŵöŕđ1', '⟦Ṕåşşŵöŕđ1⟧', 'Šéčřéť9']),
}
it.each(Object.entries(standIns))('%s in place of a secret are no secrets', (_, make) => {
  for (let round = 0; round < 40; round += 1) {
    const value = make()
    for (const place of [
      '"password": "§"',
      'password: §',
      "password = '§'",
      '"apiToken": "§"',
      'msgid "Password"\nmsgstr "§"',
      'Passwort: §',
    ]) {
      const text = place.replace('§', () => value)
      expect([text, certain(text)]).toEqual([text, []])
    }
  }
})

it('finds values that resemble placeholders, sums and colors', () => {
  for (const text of [
    'password: "Größe-2024x"',
    'mk: Tr0ub4dor8xQ9',
    'PW: Tr0ub4dor8xQ9',
    'db_PW=Tr0ub4dor8xQ9',
    'password: żółw-1984',
    'password: 36403_blue_cloud',
    'password == "Tr0ub4dor8xQ9"',
    'Tel:[1]+49 30 45678912',
    'user/13912345670',
    'cc4539578763621486',
    'myCard4539578763621486',
    'ip 2391:304::7;',
    'ip from 84.23.11.9 Object',
    'token 0x7268d15bd36fc079aa104ef3a2be25239c71a577',
  ])
    expect([text, certain(text).length]).toEqual([text, 1])
})

const chosen = () => `${d.signs(1, 'ABCDEF')}${d.signs(5, 'bcdfghjk')}${d.signs(2, '23456789')}x`
const generated = () => d.signs(32, base62)
const octet = () => 101 + d.below(140)
const host = () => `84.${octet()}.${octet()}.${octet()}`
const address = () => `0x${d.signs(40, '0123456789abcdef')}`
const wordOf = () => some(['river', 'copper', 'velvet', 'amber', 'falcon', 'harbor'])
/** Secrets and personal data that resemble what the rules above exclude, with a random value each. */
const resembling: Readonly<Record<string, readonly [kind: string, make: () => string]>> = {
  'a key after parameters of an address': [
    'api_key',
    () => `https://api.acme.io/v2/items?user=jk&lang=de&${some(['apikey', 'api_key', 'token'])}=${generated()}`,
  ],
  'a password in a form': ['api_key', () => `grant_type=x&user=anna&scope=a.b/c.d&next=/a/b&pw=${chosen()}`],
  'a password in a connection string': [
    'api_key',
    () => `jdbc:sqlserver://db1.acme.io:1433;database=shop;user=sa;pwd=${chosen()}`,
  ],
  'a name in capitals after a hyphen': [
    'api_key',
    () => some([`X-api-KEY: ${generated()}`, `db-PW=${chosen()}`, `git-PAT: ${generated()}`]),
  ],
  'a name with id before the word': [
    'api_key',
    () => some([`firebase_id_token = "${generated()}"`, `client-id-secret: ${generated()}`]),
  ],
  'an address of Ethereum near words for keys': [
    'ethereum_address',
    () =>
      some(['I lost my pgp key, so send the ETH to §', 'gpg ok. Donate to §', 'keyring account § has 2.5 ETH']).replace(
        '§',
        address,
      ),
  ],
  'an address of Ethereum with zeros': [
    'ethereum_address',
    () => `pay 0x${d.signs(8, '23456789')}${'0'.repeat(20)}${d.signs(12, '23456789')}`,
  ],
  'a Vietnamese password': [
    'api_key',
    () => some(['{"tk":"hoa","mk":"§"}', '"mk: §"', "'mk': '§'", 'wifi-mk: §', 'wifi_mk=§']).replace('§', chosen),
  ],
  'an IPv6 address between semicolons': [
    'ip',
    () => `2024-05-01;2001:470:${octet()}:18::${octet()};${some(['200', '443;7'])}`,
  ],
  'a card after a name without a gap': [
    'card',
    () => `${some(['creditcard', 'debitcard', 'mycc', 'CreditCard', 'companycard'])}4539578763621486`,
  ],
  'an IP address after a name without a gap': [
    'ip',
    () => `${some(['clientip', 'serverip', 'remoteaddr', 'dbhost'])}${host()} ok`,
  ],
  'a phone after an index': [
    'phone',
    () => `${some(['Tel[1]', 'phones[0]', 'TEL[CELL]'])}+4917${d.signs(1, '2345')}${d.signs(7, '23456789')}`,
  ],
  'a phone in the address of a contact': [
    'phone',
    () => `https://crm.acme.io/${some(['id', 'groups', 'events', 'p', 't'])}/139${d.signs(8, '23456789')}`,
  ],
  'a mobile number beside a name': [
    'phone',
    () =>
      `${some(['张三(§)', 'Li Si (§)', '(§)', '李四, §, 北京', 'Wang, §, x', '[§]', '§ 王五', '联系我§，谢谢', 'Boss: §'])}`.replace(
        '§',
        `139${d.signs(7, '3456789')}2`,
      ),
  ],
  'a mobile number in brackets or a list': [
    'phone',
    () =>
      some([
        'Boss(§), Li(§)',
        'WeChat(§)',
        'to: [§, §]',
        '[§, §]',
        'INSERT INTO users VALUES (1, §, 30)',
        'address: §',
        '1,33,§,2',
        'send_sms(§)',
      ]).replaceAll('§', () => `139${d.signs(7, '3456789')}2`),
  ],
  'a key of 32 to 64 characters in a header of web sockets': [
    'api_key',
    () => `Sec-WebSocket-Key: ${d.signs(32 + d.below(33), base62)}`,
  ],
  'a phone with a year after a slash': ['phone', () => `Telefone 11.${100 + d.below(899)}.${100 + d.below(899)}/2023`],
  'a password in hexadecimal digits': ['api_key', () => `db_password=0x9${d.signs(15, '89abcdef')}`],
  'a password that resembles an expression': [
    'api_key',
    () => `Passwort: ${some([`new!${chosen()}`, `${d.below(899) + 100}*fluffy`, `x7${d.signs(5, 'BCD')}==a1`])}`,
  ],
  'a password of words and numbers': ['api_key', () => `password: "${wordOf()}_${10 + d.below(89)}_${wordOf()}"`],
  'a password that begins with a date': ['api_key', () => `Passwort: 0${1 + d.below(9)}1${d.below(9)}_${wordOf()}`],
  'a password that resembles a number of a message': [
    'api_key',
    () => `password: ${some(['string', 'error', 'label'])}-${100 + d.below(900)}-${wordOf()}`,
  ],
  'a password of accented letters': ['api_key', () => `hasło: ${d.signs(6, 'żółćęąśń')}${10 + d.below(89)}`],
  'a password with words of placeholders': [
    'api_key',
    () => `Passwort: ${some(['Kind', 'Must', 'Least'])}${10 + d.below(89)}!`,
  ],
  'a password that resembles a type or a style': [
    'api_key',
    () =>
      `password: "${some([`3des${d.signs(8, base62)}7a`, `to-anna-${100 + d.below(899)}`, `windows${2001 + d.below(20)}`])}"`,
  ],
  'a password with the signs of a pattern': ['api_key', () => `password: "^x${chosen()}(${d.signs(5, base62)}$"`],
  'a key of tests in a call': ['api_key', () => `setApiKey("test_${d.signs(30, '0123456789ABCDEFGHIJ')}")`],
  'a key of tests before a bracket': ['api_key', () => `test_${d.signs(30, '0123456789ABCDEFGHIJ')}(expires in May)`],
  'an IP address after words for specifications': [
    'ip',
    () => `${some(['802.1X: §', 'aspect §', 'inspect §', 'bisect §', 'xhtml §']).replace('§', host)} denied`,
  ],
}
it.each(Object.entries(resembling))('finds %s', (_, [kind, make]) => {
  for (let round = 0; round < 40; round += 1) {
    const text = make()
    expect([text, found(text, kind)]).toEqual([text, true])
  }
})

it.each([
  ['password=', '\n'],
  ['pw=', ','],
  ['pw:', ';'],
  ['密码:', '\n'],
  ['password=', ' '],
])('finds each of the shortest passwords in a list: %j%j', (lead, end) => {
  const shortest = () => `${d.signs(1, 'bcdfgh')}${d.signs(1, 'XYZW')}${d.signs(3, '23456789')}!`
  const list = Array.from({ length: 40 }, () => lead + shortest() + end).join('')
  // Some have a row of digits that documentation also uses, so their confidence is low.
  expect(scan(list)).toHaveLength(40)
})

it('digests are no secrets', () => {
  for (let round = 0; round < 20; round += 1)
    expect(scan(`token: sha256:${d.signs(64, '0123456789abcdef')}`)).toEqual([])
})

it('finds with low confidence what may be a secret or personal data', () => {
  const mobile = () => `139${d.signs(7, '3456789')}2`
  for (const text of [
    `password (CVE-${2015 + d.below(10)}-${10_000 + d.below(89_999)})`,
    `Sec-WebSocket-Key: ${d.signs(22, base62)}==`,
    `https://maps.acme.io/tile?key=${d.signs(40, base62)}&z=3`,
    `hash: ${mobile()}`,
    `mix(${mobile()})`,
    `seed=${mobile()}`,
    'call 91.98.7.654321',
    '<span class="password">'.concat('RFC2617digest</span>'),
    `(7, ${mobile()}, 5)`,
    `x % ${mobile()};`,
    `user_id_key: "${d.signs(40, '0123456789abcdef')}"`,
    `appIdKey: "${generated()}"`,
    `per spec ${host()}`,
    `standard: ${host()}`,
    `{"my-PW": "${chosen()}"}`,
    `keyserver: pks/lookup?op=get&search=${address()}`,
    `ansible.builtin.apt_key:\n    id: ${address()}`,
    `to 0xdead${'0'.repeat(36)}`,
    '802.11-2016 9.4.2.59',
    'amqps://svc:QWHFKTPB_ZRNMVLDX@mq.acme.io',
    ';2509:7;;;2001:470:1:18::119;;;',
    'password: "^[b-y]+[2-7]$"',
    'password: todo:Xk29pQz7Lm',
  ])
    expect([text, scan(text).map(({ confidence }) => confidence)]).toEqual([text, ['low']])
})

it('a cue is no part of another name, and any words may follow a telephone', () => {
  expect(scan('GitHub: 030 12345678')).toEqual([])
  for (const text of ['Tel error 030 1234567', 'tel. index card 020 7946 0958'])
    expect([text, scan(text).map(({ kind }) => kind)]).toEqual([text, ['phone']])
})
