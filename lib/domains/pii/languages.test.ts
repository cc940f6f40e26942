import { getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { expect, test } from 'vitest'
import { drawn } from '#lib/testing/planted-texts.ts'
import { scan } from './scanner.ts'

const reported = (text: string) =>
  scan(text).map(({ kind, start, end, confidence }) => `${kind}${confidence ? ' low' : ''} ${text.slice(start, end)}`)

/**
 * What people write before their number, by country, separated by bars: a list from which the words of the scanner were collected, and one
 * that was written afterwards and measured before any of its words was added.
 */
const cues: Record<string, [collected: string, heldOut: string]> = {
  US: [
    'Phone: |Cell |Call me at |Mobile number: |My cell is |Office phone - |Fax no. |Toll-free: ',
    'Cell#: |You can text |Day phone: |Please dial ',
  ],
  GB: [
    'Mob: |Tel. no. |Ring me on |Landline |Home tel: |Mobile no: |Give me a ring on ',
    'Work mobile: |Daytime tel |Speak to me on ',
  ],
  DE: [
    'Handynummer: |Telefon |Tel.-Nr. |Rufnummer: |Ruf mich an unter |Erreichbar unter |Mobil-Nr.: |Telefonisch erreichbar: |Fon: |Privatnummer: |Meine Handynummer lautet ',
    'Tel. dienstl.: |Mobilfunk: |Sie können mich unter |Notfallkontakt Tel. ',
  ],
  FR: [
    'Tél. : |Portable : |Téléphone |Appelez-moi au |Joignable au |N° de tél. : |Tél portable : |Numéro de portable : |Tel bureau: |Fixe : |Mon 06 : ',
    'Tél. domicile : |Mobile perso : |Contact tél : |Rappelle-moi au ',
  ],
  ES: [
    'Móvil: |Tlfno. |Teléfono de contacto: |Llámame al |Tfno: |Tel. móvil: |Teléfono fijo |Mi móvil es el |Telf: ',
    'Tfno. contacto: |Contacta conmigo en el |Telefono movil |Whatsapp: ',
  ],
  IT: [
    'Cell. |Telefono: |Chiamami al |Recapito telefonico: |Tel/Fax |Tel. ufficio: |Numero di cellulare: |Il mio numero è |Fax ',
    'Tel. casa |Cell.: |Mi trovi al |Tel. mobile: ',
  ],
  PT: [
    'Telemóvel: |Tlm. |Contacto: |Telefone |Tel: |Nº de telemóvel: |O meu telemóvel é ',
    'Tel. fixo |Telm: |Podes ligar para ',
  ],
  BR: [
    'Fone: |Celular: |WhatsApp: |Ligue para |Tel. (res.) |Tel./WhatsApp: |Meu celular é |Cel/Whats: |Telefone para contato: ',
    'Tel residencial: |Fone/Fax: |Me chama no |Cel.: ',
  ],
  MX: ['Cel. |Teléfono: |Marca al |Tel. oficina: |Número celular: ', 'Mi cel es el |Tel: '],
  AR: ['Tel: |Celu: |Teléfono |Cel: |Mi celular es ', 'Teléfono celular: |WhatsApp '],
  CO: ['Celular: |Tel. |Móvil: ', 'Teléfono: '],
  CL: ['Fono: |Celular |Teléfono móvil: ', 'Cel '],
  PE: ['Telf. |Celular: |Cel: ', 'Teléfono fijo: '],
  NL: [
    'Mobiel: |Telefoonnummer: |Bel mij op |06-nummer: |Tel: |Tel. nr.: |Mijn mobiele nummer is |Telefoon: ',
    'Mob. |Tel.nr. |U kunt mij bellen op |Je kunt me bereiken op |Bereik me op ',
  ],
  BE: ['GSM: |Tel. |Tél./Tel. |Gsm-nummer: ', 'Mobiel nummer: |Tél. '],
  CH: ['Natel: |Tel. P: |Mobile |Telefon G: |Handy ', 'Mobile: |Tel. direkt: '],
  AT: ['Tel.-Nr. |Handy: |Mobil: |Telefonnummer: ', 'Tel: |Handynr. '],
  IE: ['Ph: |Mobile: |Tel: ', 'Mob: |Call me on '],
  PL: [
    'tel. |tel. kom. |Telefon: |Numer telefonu: |zadzwoń pod numer |Tel. komórkowy: |Nr tel.: |mój telefon to |Kom. ',
    'Telefon kontaktowy: |tel/fax |Komórka: ',
  ],
  CZ: ['tel.: |Mobil: |telefonní číslo |Mobilní telefon: |mob. |Tel. číslo: ', 'Tel. |Telefon domů: |můj mobil je '],
  SK: ['tel.: |mobil |Mobilné číslo: |Telefón: ', 'Tel. číslo |Mobil: '],
  HU: [
    'Telefonszám: |Tel.: |Mobil: |Hívjon a |Mobilszám: |Telefon: |a telefonszámom ',
    'Mobiltelefon: |Tel: |Hívj fel: ',
  ],
  RO: [
    'Telefon: |Nr. tel. |Sunați la |Mobil: |Tel./Fax: |Telefonul meu este ',
    'Tel. mobil: |Nr. de telefon: |Mă găsiți la ',
  ],
  BG: ['тел. |Телефон: |моб. |GSM: |Телефон за връзка: ', 'Мобилен: |Тел. за контакти: '],
  GR: [
    'Τηλ.: |Κινητό: |Τηλέφωνο επικοινωνίας |Κιν. |Τηλ. |Αριθμός κινητού: ',
    'Τηλέφωνο οικίας: |Κινητό τηλέφωνο: |το κινητό μου είναι ',
  ],
  SE: [
    'Tfn: |Mobil: |Telefonnummer: |ring mig på |Mobilnr: |Tel. |Mitt telefonnummer är ',
    'Mobiltelefon: |Hemtelefon |Du når mig på ',
  ],
  FI: [
    'Puh. |Puhelin: |Matkapuhelin |soita numeroon |Puhelinnumero: |GSM |Puh: ',
    'Matkapuh. |Puhelinnro: |Soita minulle: ',
  ],
  DK: ['Tlf. |Mobil: |ring til |Telefonnummer |Mobilnr. |Telefon: |Mit nummer er ', 'Mobiltlf. |Tlf.nr. |Ring på '],
  NO: [
    'Tlf: |Mobil |Telefon: |ring meg på |Mobilnr: |Telefonnr. |Mitt nummer er ',
    'Mobiltlf: |Tlf.nr. |Du kan ringe ',
  ],
  RU: [
    'Тел.: |моб. |Телефон |Контактный телефон: |звоните по номеру |Сотовый: |Тел./факс: |Мой телефон |Номер телефона: ',
    'Моб. тел.: |Домашний телефон: |Тел. |мой сотовый ',
  ],
  UA: [
    'моб. |тел. |Телефон: |телефонуйте |Тел/факс: |Мобільний: |Контактний телефон: ',
    'Моб. тел. |номер тел.: |мій телефон ',
  ],
  TR: ['Cep: |Telefon: |Tel No: |Cep telefonu |GSM No: |Telefon Numarası: |İletişim: ', 'Cep Tel: |Tel: |Telefonum '],
  JP: [
    '連絡先：|電話番号：|携帯 |TEL：|電話は|お電話番号：|ＴＥＬ：|電話番号は|携帯番号：|Tel: ',
    'お電話：|携帯電話：|FAX：|電話番号 ',
  ],
  KR: [
    '휴대폰 |전화번호: |연락처 : |핸드폰 번호는 |전화 : |휴대전화: |H.P. |제 번호는 ',
    '연락처 |핸드폰: |전화번호는 ',
  ],
  CN: [
    '手机: |电话：|联系电话：|手机号码 |电话号码是|手机号：|电话（微信同号）：|致电|我的手机号是',
    '联系方式：|座机：|手机/微信：|拨打电话',
  ],
  TW: ['電話：|手機 |聯絡電話：|連絡電話：|行動電話：', '手機號碼：|電話是'],
  HK: ['電話：|Tel |手提電話：', '電話號碼：'],
  IN: ['मोबाइल नंबर: |फ़ोन: |Mobile No. |Contact number: |फोन नंबर |Mob. no. |संपर्क: ', 'मोबाइल: |Phone No. - |फोन: '],
  ID: [
    'No. HP: |Telp. |HP/WA: |Nomor telepon: |Hubungi |Telepon: |WA: |No. Telp: ',
    'Nomor HP: |Kontak: |Telepon saya ',
  ],
  MY: ['No. Tel: |Telefon bimbit: |Telefon: ', 'HP: '],
  TH: ['โทร. |เบอร์โทรศัพท์: |มือถือ |โทรศัพท์: |เบอร์โทร ', 'เบอร์: |โทร '],
  VN: ['SĐT: |Điện thoại: |ĐT: |Số điện thoại |Điện thoại di động: |Hotline: |Liên hệ: ', 'Số ĐT: |ĐTDĐ: |Gọi '],
  PH: ['Cel: |Telepono: |Mobile: ', 'Contact no.: |Cp#: '],
  EG: ['هاتف: |موبايل: |رقم الهاتف: |تليفون: |رقم الموبايل: ', 'محمول: |واتساب: |للاتصال: '],
  SA: ['جوال: |الهاتف: |رقم الجوال |رقم الجوال: |اتصل على ', 'هاتف: |للتواصل: '],
  IL: ["נייד: |טלפון: |טל' |מספר טלפון: |פלאפון: |נייד - ", "טל': |מספר נייד: "],
  IR: ['موبایل: |تلفن: |شماره تماس: |تلفن همراه: |شماره موبایل: ', 'شماره تلفن: |همراه: '],
  PK: ['فون: |موبائل نمبر: |Mobile: |رابطہ نمبر: ', 'فون نمبر: '],
  BD: ['মোবাইল: |ফোন নম্বর: |মোবাইল নম্বর: ', 'ফোন: '],
  AU: ['Mob: |Ph |Phone no. ', 'Mobile - '],
  NZ: ['Mob: |Phone: |Cell: ', 'Mobile no. '],
  ZA: ['Cell: |Selfoon: |Tel: |Tel no: ', 'Cell no: '],
  NG: ['Phone: |GSM: |Call: ', 'Tel: '],
  KE: ['Simu: |Tel: |Nambari ya simu: ', 'Piga simu '],
  HR: ['Mob: |Telefon: |Broj telefona: |Mobitel: |Kontakt telefon: ', 'Tel: |Broj mobitela: '],
  RS: ['Моб: |телефон: |Tel: |Мобилни: |Број телефона: ', 'Telefon: '],
  SI: ['GSM: |Telefon: |Mobilni telefon: ', 'Tel.: |Mobitel: '],
  LT: ['Tel. |Mob. |Telefonas: |Mob. tel. ', 'Tel. nr. '],
  LV: ['Tālr. |Mob. |Tālrunis: ', 'Mob. tel.: '],
  EE: ['Tel: |Mobiil: |Telefon: ', 'Mob: '],
  IS: ['Sími: |Farsími: |Símanúmer: ', 'GSM: '],
  GE: ['ტელ: |მობილური: ', 'ტელეფონი: '],
  AM: ['Հեռ. |Հեռախոս: ', 'Հեռ․ '],
  KZ: ['Тел. |ұялы: |Телефон нөмірі: ', 'Телефон: '],
}
const spellings = [
  (written: string) => written,
  (written: string) => written.replace(/[ -]/g, ''),
  (written: string) => written.replace(/[ -]/g, '.'),
  (written: string) => written.replace(/ /g, '-'),
]
test.each(['collected', 'held out'])('finds national numbers of 57 countries after %s cues', (list) => {
  const d = drawn(57)
  const missed: string[] = []
  const texts = Object.entries(cues).flatMap(([country, lists]) =>
    (lists[list === 'collected' ? 0 : 1] ?? '').split('|').flatMap((cue) => {
      const example = `${getExampleNumber(country as 'DE', examples)?.nationalNumber}`
      for (let tries = 0; tries < 40; tries++) {
        const retained = 2 + d.below(3)
        const digits = example.slice(0, retained) + d.signs(example.length - retained, '0123456789')
        const number = parsePhoneNumberFromString(digits, country as 'DE')
        if (number?.isValid() && !/(\d)\1{3}/.test(digits))
          return spellings.map((spell) => ({ cue, number: spell(number.formatNational()) }))
      }
      return []
    }),
  )
  for (const { cue, number } of texts) {
    const text = `Before. ${cue}${number}\nAfter`
    const found = scan(text).filter(({ kind }) => kind === 'phone')
    if (!found.some(({ start, end }) => text.slice(start, end).replace(/\D/g, '') === number.replace(/\D/g, '')))
      missed.push(text)
  }
  expect(texts.length).toBeGreaterThan(500)
  expect({ share: missed.length / texts.length <= 0.02, missed }).toMatchObject({ share: true })
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
const heldOutNames =
  "Kennwort|Zugangscode|Passwort fürs WLAN|clave de acceso|palavra-passe|kata sandi|parol|lozinka|slaptažodis|парола|סיסמת|کلمه عبور|गुप्त शब्द|Пароль от вайфая|code d'accès|password di accesso|código de acceso|toegangscode|kodord|kodeord|salasanasi|hasło dostępu|heslo k účtu|belépési jelszó|parola contului|пароль доступа|κωδικός πρόσβασης|giriş şifresi|رمز الدخول|סיסמא|รหัสลับ|mã pin|암호|暗証番号|口令|通行碼|登录密码|ログインパスワード|pass|pwd|passcode".split(
    '|',
  )
/** Ways to write a name and its value that were measured before any of them was added. */
const heldOutSyntaxes: ((name: string, value: string) => string)[] = [
  (n, v) => `- ${n} – ${v}`,
  (n, v) => `${n}\n${v}`,
  (n, v) => `"${n}","${v}"`,
  (n, v) => `${n};${v}`,
  (n, v) => `${n}\t${v}`,
  (n, v) => `* ${n}: \`${v}\``,
  (n, v) => `# ${n}\n\`\`\`\n${v}\n\`\`\``,
  (n, v) => `[${n}] ${v}`,
  (n, v) => `${n} (${v})`,
  (n, v) => `${n} "${v}"`,
  (n, v) => `setenv ${n.replaceAll(' ', '_').toUpperCase()} ${v}`,
  (n, v) => `${n.replaceAll(' ', '_')}!: string = '${v}'`,
  (n, v) => `${n} is ${v}`,
]
const d = drawn(26)
const lower = (count: number) => d.signs(count, 'abcdefghijkmnpqrstuvwxyz')
const digit = (count: number) => d.signs(count, '23456789')
const upper = (count: number) => d.signs(count, 'ABCDEFGHJKLMNPQRSTUVWXYZ')
const passwords = () => [
  `${upper(1)}${lower(5)}${digit(2)}!`,
  `${upper(1)}${lower(2)}-${digit(3)}-${lower(3)}`,
  `${lower(3)}$${upper(2)}${digit(2)}${lower(2)}`,
  `${upper(1)}${lower(7)}${digit(3)}${lower(1)}`,
]
test.each([
  ['26 languages and 22 syntaxes', names, syntaxes],
  ['13 other syntaxes', names, heldOutSyntaxes],
  ['other words', heldOutNames, syntaxes],
])('finds passwords by their names: %s', (_, words, forms) => {
  let [all, missed] = [0, [] as string[]]
  for (const name of words)
    for (const write of forms)
      for (const value of passwords()) {
        const text = write(name, value)
        all += 1
        if (!reported(text).includes(`api_key ${value}`)) missed.push(text)
      }
  expect({ share: missed.length / all <= 0.05, missed }).toMatchObject({ share: true })
})

/** Places where a word with a number is no variable. */
const ofTexts: ((name: string, value: string) => string)[] = [
  (n, v) => `<table><tr><td>${n}</td><td>${v}</td></tr></table>`,
  (n, v) => `<tr>\n  <th scope="row">${n}:</th>\n  <td class="x">${v}</td>\n</tr>`,
  (n, v) => `<td><b>${n}</b></td><td><code>${v}</code></td>`,
  (n, v) => `<dl>\n <dt>${n}</dt>\n <dd>${v}</dd>\n</dl>`,
  (n, v) => `<li><strong>${n}:</strong> ${v}</li>`,
  (n, v) => `${n}:<br>${v}<br>`,
  (n, v) => `| a | b |\n|---|---|\n| ${n} | ${v} |`,
  (n, v) => `User: anna\n${n}: ${v}\n`,
  (n, v) => `User: anna\n${n}:\n${v}\n`,
  (n, v) => `[db]\n${n} = ${v}`,
  (n, v) => `DB_${n.replaceAll(' ', '_').toUpperCase()}=${v}`,
  (n, v) => `spring.datasource.${n.replaceAll(' ', '-')}=${v}`,
  (n, v) => `<c><${n.replaceAll(' ', '-')}>${v}</${n.replaceAll(' ', '-')}></c>`,
  (n, v) => `<property name="${n}">${v}</property>`,
  (n, v) => `- name: ${n}\n  value: ${v}\n`,
  (n, v) => `tool --${n.replaceAll(' ', '-')} ${v} --x`,
  (n, v) => `https://h.example/x?user=a&${encodeURIComponent(n)}=${v}&b=1`,
  (n, v) => `The ${n} is ${v}.`,
  (n, v) => JSON.stringify([{ value: v, name: n }]),
  (n, v) => JSON.stringify({ id: 'x1', label: n, type: 'CONCEALED', value: v }),
  (n, v) => JSON.stringify({ fields: [{ field: n, text: v }] }, null, 1),
]
test('finds words with a number by the names of passwords', () => {
  let [all, missed] = [0, [] as string[]]
  for (const name of names)
    for (const write of ofTexts)
      for (const value of [`lemon${digit(1)}x`.slice(0, -1), `Falke${digit(2)}`, `lavender19${digit(2)}`]) {
        const text = write(name, value)
        all += 1
        if (!reported(text).includes(`api_key ${value}`)) missed.push(text)
      }
  expect({ share: missed.length / all <= 0.05, missed }).toMatchObject({ share: true })
  expect(reported(['<td>password</td>', '<td>hunter2</td>'].join('\n'))).toEqual(['api_key low hunter2'])
})
test.each([
  'this.password = falcon7\n',
  'const password = falcon7\n',
  'password: falcon7,',
  'login({ password: falcon7 })',
  'password = falcon7;\n',
  'if (password == falcon7)\n',
  '<label>Password</label>\n<Input2 value={value2} />',
  '<dt>Password</dt><dd>required</dd>',
  '{"name":"password","type":"string","value":"required"}',
])('finds no password in the code %j', (text) => {
  expect(reported(text)).toEqual([])
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
  '[CLIENT_CAPABILITIES_META_KEY]: ClientCapabilities2026Schema',
  'secp256k1: Gy: BigInt("0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8")',
  '"Opera Mobile", F: { A: 1287100800, B: 1300752e3 }',
  'IHBhc3N3b3Jkcw== JyIpOwoJyIpO44GE= 44GE44Gm IGNvZWZmaWNpZW50 IHBhc3N3b3Jk IFBsYXRpbnVtIG IFBsYXRpbnVt',
  'wrong yard year yellow you young youth zebra zero zone zoo split',
])('finds nothing in %s', (text) => {
  expect(reported(text)).toEqual([])
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

const suggested = () => [
  `Falke#${digit(3)}kL`,
  `${lower(1)}${upper(1)}${digit(1)}x!${digit(2)}Yb`,
  `${lower(2)}${upper(2)}-mhwp-${digit(1)}${lower(2)}${digit(2)}`,
  `zd${upper(2)}-b${lower(1)}${upper(1)}v-${digit(1)}t${upper(2)}${digit(1)}`,
]
test.each([
  'local password = [[§]]',
  'password: &anchor §',
  'password: !tag §',
  'passwords: ["§"]',
  'rootpw §',
  'rootpw --plaintext §',
  'enable secret 0 §',
  'snmp-server community § RO',
  'wpa-psk §',
  'rasdial vpn anna §',
  'echo "anna:§" | sudo chpasswd',
  'chpasswd:\n  list: |\n    root:§',
  'sudo -S <<< "§" ls',
  "auth=HTTPBasicAuth('anna', '§')",
  "get(url, auth=('anna', '§'))",
  'DriverManager.getConnection(url, "app", "§");',
  "new Sequelize('shop', 'app', '§', { host })",
  'Login: anna / §',
  'Zugang: anna / §',
  'credentials: anna:§',
  'twine upload -u anna -p § dist/*',
  'etcdctl --user root:§ get /',
  'net use Z: \\\\nas\\share /user:anna §',
  ['sftp:/', '/anna:§@files.acme.io/x'].join(''),
  'رمز عبور وای‌فای: §',
])('%j has a password', (form) => {
  for (const value of suggested()) {
    const text = form.replace('§', () => value)
    expect(reported(text), text).toContainEqual(expect.stringContaining(value))
  }
})

test.each([
  'Login: github.com/acme/tool9X',
  'login: https://acme.io/Start9',
  'credentials: file:~/.config/Tool9',
  'Login: anna / Dashboard',
  'enable secret 5 $1$mERr$hx5rVt7rPNoS4wqbXKX7m0',
  'password: !Ref DatabasePassword',
  'password: [[Password policy]]',
  'passwords: ["first", "second"]',
  'password: sap-business-one2',
  'password: http-xml-grpc-tcp2',
  'password: Base-Path-Name-Type1',
])('%j has no password', (text) => {
  expect(reported(text)).toEqual([])
})

test.each([
  'Upgrade from 4.18.2.1 to 4.18.3.',
  'Mobile first: 320 768 1024 1280',
  'cell 1024 2048 4096',
  'CEP 01310-100',
  'offset 13800138000',
])('scan finds nothing with full confidence in %j', (text) => {
  expect(scan(text).filter(({ confidence }) => confidence === undefined)).toEqual([])
})
test.each(['updated requests from 84.23.11.10 to the gateway', 'Mobile 212 736 5000', 'cep 0532 735 91 42'])(
  'finds the value in %j',
  (text) => {
    expect(scan(text).filter(({ confidence }) => confidence === undefined)).toHaveLength(1)
  },
)
test('finds keys of Convex and Bitwarden', () => {
  const base64 = `eyJ2MiI6Im${d.signs(30, 'ABCDEFabcdefKLMNop23456789')}=`
  for (const key of [`prod:happy-animal-123|${base64}`, `preview:team-one:shop|${base64}`])
    expect(reported(`convex: ${key}`)).toEqual([`api_key ${key}`])
  const token = `0.ec2c1d46-6a4b-4751-a310-af9601317f2d.${d.signs(30, 'ABCDEFabcdefKLMNop23456789')}:X8vbvA0bduihIDe/qrzIQQ==`
  expect(reported(`bitwarden = ${token}`)).toEqual([`api_key ${token}`])
})
