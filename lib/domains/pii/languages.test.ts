import { getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { expect, it, test } from 'vitest'
import { scan } from './scanner.ts'

const told = (text: string) =>
  scan(text).map(({ kind, start, end, confidence }) => `${kind}${confidence ? ' low' : ''} ${text.slice(start, end)}`)

const cues: Record<string, string> = {
  US: 'Phone: ',
  GB: 'Mob: ',
  DE: 'Handynummer: ',
  FR: 'Tél. : ',
  ES: 'Móvil: ',
  IT: 'Cell. ',
  PT: 'Telemóvel: ',
  BR: 'Fone: ',
  MX: 'Cel. ',
  AR: 'Tel: ',
  CO: 'Celular: ',
  CL: 'Fono: ',
  NL: 'Mobiel: ',
  BE: 'GSM: ',
  CH: 'Natel: ',
  AT: 'Tel.-Nr. ',
  IE: 'Ph: ',
  PL: 'tel. ',
  CZ: 'tel.: ',
  SK: 'tel.: ',
  HU: 'Telefonszám: ',
  RO: 'Telefon: ',
  GR: 'Τηλ.: ',
  SE: 'Tfn: ',
  FI: 'Puh. ',
  DK: 'Tlf. ',
  NO: 'Tlf: ',
  RU: 'Тел.: ',
  UA: 'моб. ',
  TR: 'Cep: ',
  JP: '連絡先：',
  KR: '휴대폰 ',
  CN: '手机: ',
  TW: '電話：',
  IN: 'मोबाइल नंबर: ',
  ID: 'No. HP: ',
  TH: 'โทร. ',
  VN: 'SĐT: ',
  EG: 'هاتف: ',
  IL: 'נייד: ',
  IR: 'موبایل: ',
  AU: 'Mob: ',
}
it('finds national numbers of 42 countries after a cue in their language', () => {
  let [all, missed] = [0, [] as string[]]
  for (const [country, cue] of Object.entries(cues))
    for (const tail of ['4711', '2368', '9082', '305', '771']) {
      const example = getExampleNumber(country as 'DE', examples)
      const number = parsePhoneNumberFromString(
        `${example?.nationalNumber}`.slice(0, -tail.length) + tail,
        country as 'DE',
      )
      if (!number?.isValid()) continue
      const written = number.formatNational()
      for (const form of [written, written.replace(/[ -]/g, '')]) {
        all += 1
        if (!told(cue + form).some((one) => one.startsWith('phone') && one.endsWith(form))) missed.push(cue + form)
      }
    }
  expect(all).toBeGreaterThan(250)
  expect({ share: missed.length / all <= 0.02, missed }).toMatchObject({ share: true })
})

const names =
  "password|Passwort|mot de passe|contraseña|senha|parola d'ordine|wachtwoord|lösenord|adgangskode|passord|salasana|hasło|heslo|jelszó|parolă|пароль|κωδικός|şifre|كلمة المرور|סיסמה|पासवर्ड|รหัสผ่าน|mật khẩu|비밀번호|パスワード|密码".split(
    '|',
  )
const syntaxes: ((name: string, value: string) => string)[] = [
  (n, v) => `${n}=${v}`,
  (n, v) => `${n} = "${v}"`,
  (n, v) => `${n} : ${v}`,
  (n, v) => `${n}：${v}`,
  (n, v) => `${n} := "${v}"`,
  (n, v) => `'${n}' => '${v}',`,
  (n, v) => `${n} -> ${v}`,
  (n, v) => JSON.stringify({ id: 1, [n]: v, x: 'y' }),
  (n, v) => `db:\n  ${n}: '${v}'\n  x: y\n`,
  (n, v) => `<user ${n}="${v}" x="1"/>`,
  (n, v) => `<${n}>${v}</${n}>`,
  (n, v) => `tool --${n}=${v} --x`,
  (n, v) => `https://h.example/?a=1&${n}=${v}&q=1`,
  (n, v) => `INFO "{\\"${n}\\":\\"${v}\\",\\"x\\":1}"`,
  (n, v) => `ALTER USER x SET ${n} '${v}';`,
  (n, v) => `$${n} = '${v}'`,
  (n, v) => `docker run -e ${n}=${v} img`,
  (n, v) => `| host | x |\n| ${n} | ${v} |`,
  (n, v) => `<tr><td>${n}</td><td>${v}</td></tr>`,
  (n, v) => `The ${n} is ${v}.`,
  (n, v) => `${n} for the wifi: ${v}`,
  (n, v) => `- name: ${n}\n  value: ${v}\n`,
]
it('finds passwords by their names in 26 languages and 22 syntaxes', () => {
  const values = ['Tr0ub4', 'kX9', 'w3lkom', 'b1ue-H0rse'].map((start) => `${start}x8Q`)
  let [all, missed] = [0, [] as string[]]
  for (const name of names)
    for (const write of syntaxes)
      for (const value of values) {
        const text = write(name, value)
        all += 1
        if (!told(text).includes(`api_key ${value}`)) missed.push(text)
      }
  expect({ share: missed.length / all <= 0.02, missed }).toMatchObject({ share: true })
})

const secret = ['Zu8', 'kk3pq'].join('')
test.each([
  `curl -u elastic:${secret} https://search.example.com`,
  `PGPASSWORD=${secret} psql`,
  `mysql -uroot -p${secret} db`,
  `sshpass -p '${secret}' ssh x`,
  `redis-cli -a ${secret} ping`,
  `CREATE USER 'x'@'%' IDENTIFIED BY '${secret}';`,
  `ConvertTo-SecureString "${secret}" -AsPlainText -Force`,
  `variable "db_password" {\n  default = "${secret}"\n}`,
  `machine h login bob password ${secret}`,
  `LINODE_TOKEN=${'0f1e2d3c4b5a6978'.repeat(2)}`,
])('finds one secret in %s', (text) => {
  expect(scan(text).map(({ kind }) => kind)).toEqual(['api_key'])
})
test.each([
  ['GET /reset?email=bob%40mail-of-bob.org', 'email'],
  ['bob&#64;mail-of-bob.org', 'email'],
  ['bob＠mail-of-bob．org', 'email'],
  ['jörg@bücher-müller.de', 'email'],
  ['IBAN:DE89370400440532013000BIC:COBADEFFXXX', 'iban'],
  ['IBANDE89370400440532013000', 'iban'],
  ['連絡先：０９０－１２３４－５６７８', 'phone'],
  ['هاتف: ٠٥٠ ٣٩٤ ٥٦٧١', 'phone'],
  ['ip:2a02:8071:2c1::5', 'ip'],
  [String.raw`log\n2a02:8071:2c1::5\n`, 'ip'],
  ['my card 5018 0000 0009', 'card'],
])('finds the value in %s', (text, kind) => {
  expect(scan(text).map((one) => one.kind)).toEqual([kind])
})
test.each([
  'password: process.env.CLICKHOUSE_PASSWORD',
  'password: <your-password>',
  'token: Promise<string>',
  'Mozilla/5.0 Chrome/125.0.0.0 Safari/537.36',
  '"contentVersion": "1.0.0.0"',
  'Sections 2.1.1.1–2.1.1.5',
  'ssh://git@github.com/OWNER/REPO.git',
  'record.get("limit@OData.Community.Display.V1.FormattedValue")',
  '--ring: 212.7 26.8% 83.9%',
  'Contact 2024-2025',
  'phone: 3.14159265',
  'def test_integer_conversion_NULL_equivalence2():',
  'live_structured_output_tool_gets_the_handle_v2',
  'url.password="";url.hash="";if(e){url.path=1}',
  'a.password=a.rawPassword=null,a.next()',
  'if(kind==="use-credentials"===State_inline_result_2?State_inline_result:"")',
  'propKey = propValue$204;',
  'password: config.password??null',
  'nextSignificantToken = "?TokenInsideOfMarkup";',
  "packet.writeString('mysql_native_password', 'latin1')",
  'publicKeyToken="1fc8b3b9a1e18e3b"',
  'const base64KeyStr = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"',
  'https://h.example/guide?token=%5Bredacted%5D&page=1',
  'CONDITIONS_KEY = "2:7:import4:node"',
  'XYZ = [ 2.0415879038107465, -.5650069742788596, .4111111111111111 ]',
  'seeds [4220315081820346526, 717751820318449133]',
  'x == 17179869184',
  'deps: update V8 to 13.6.233.17',
  'id_at_role = "2.5.4.72"',
  'd:"m6.75 3.94.53.53 2.82 2.8"',
  '"人", "年", "大", "十", "二", "本", "中", "出", "三", "会", "人", "一", "日", "国"',
  '5pw= IGhvcg== aWVycw== PW4= cmVkaXM= PW0= IHN1cHByZXNz',
  "Model(password='IAmSensitive')",
  'wrong yard year yellow you young youth zebra zero zone zoo split',
])('finds nothing in %s', (text) => {
  expect(told(text)).toEqual([])
})
test.each([
  '4242424242424242',
  '4007000000027',
  ['curl -u user', 'password https://x.example'].join(':'),
  `Authorization: Basic ${btoa('username:password')}`,
  'SSN 123-45-6789',
  'Ring +44 (0) 20 7946 0958',
  'route to 192.31.196.0/24',
  'host "0:0:0:0:0:0:0:1"',
  'listen on ::ffff:10.0.0.5',
])('reports %s with low confidence', (text) => {
  expect(scan(text).map(({ confidence }) => confidence)).toEqual(['low'])
})
test.each(['glpat-', 'sk-proj-', 'xai-', 'key=', '&#64;', '%40'])('scans %j repeated without extra work', (unit) => {
  expect(scan(unit.repeat(20_000)).length).toBeLessThan(40)
})
