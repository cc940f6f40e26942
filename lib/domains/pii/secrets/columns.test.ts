import { describe, expect, it, test } from 'vitest'
import { scan } from '#lib/domains/pii/scanner.ts'
import { TextScanner } from '#lib/domains/pii/streaming.ts'
import { drawn } from '#lib/testing/planted-texts.ts'

const d = drawn(41)
const password = () => `${d.one(['Falke', 'lemon', 'Zebra'])}${d.one(['#', '!', '%'])}${d.signs(3, '23456789')}kL`
const found = (text: string) =>
  scan(text)
    .filter(({ kind, confidence }) => kind === 'api_key' && confidence === undefined)
    .map(({ start, end }) => text.slice(start, end))

const places = (findings: ReturnType<typeof scan>) => findings.map(({ start, end }) => `${start}-${end}`).join()

const names = [
  'Password',
  'password',
  'Passwort',
  'Mot de passe',
  'Contraseña',
  'Senha',
  'Hasło',
  'Пароль',
  '密码',
  'パスワード',
  '비밀번호',
  'รหัสผ่าน',
  'كلمة المرور',
  'Şifre',
  'user_password',
  'WiFi password',
]
const tables: Readonly<Record<string, (name: string, one: string, other: string) => string>> = {
  'a table of HTML': (name, one, other) =>
    `<table><thead><tr><th>Login</th><th>${name}</th></tr></thead><tbody><tr><td>anna</td><td>${one}</td></tr><tr><td>bo</td><td><code>${other}</code></td></tr></tbody></table>`,
  'a table of HTML in lines': (name, one, other) =>
    `<table class="x">\n <tr>\n  <td><b>Login</b></td>\n  <td><b>${name}:</b></td>\n </tr>\n <tr>\n  <td>anna</td>\n  <td>${one}</td>\n </tr>\n <tr><td>bo</td><td>${other}</td></tr>\n</table>`,
  'aligned columns': (name, one, other) => `Login      ${name}\nanna       ${one}\nbo         ${other}\n`,
  'a table of reStructuredText': (name, one, other) =>
    `=====  ==========\nLogin  ${name}\n=====  ==========\nanna   ${one}\nbo     ${other}\n=====  ==========\n`,
  'a table of Jira': (name, one, other) => `||Login||${name}||\n|anna|${one}|\n|bo|${other}|\n`,
  'rows of JSON': (name, one, other) =>
    JSON.stringify([
      ['login', name],
      ['anna', one],
      ['bo', other],
    ]),
  'columns and rows of JSON': (name, one, other) =>
    JSON.stringify({
      columns: ['login', name],
      rows: [
        ['anna', one],
        ['bo', other],
      ],
    }),
  'a table of Markdown': (name, one, other) =>
    `| Login | ${name} |\n|:--|---|\n| anna | ${one} |\n| bo | \`${other}\` |\n`,
  'a table without bars at its ends': (name, one, other) =>
    `Login | ${name}\n--- | ---\nanna | ${one}\nbo | ${other}\n`,
  'CSV with commas': (name, one, other) => `login,${name},role\nanna,${one},admin\nbo,${other},guest\n`,
  'quoted CSV': (name, one, other) => `"login","${name}"\r\n"anna","${one}"\r\n"Bo, jr","${other}"\r\n`,
  'CSV with semicolons': (name, one, other) => `id;login;${name}\n1;anna;${one}\n2;bo;${other}`,
  'CSV with tabs': (name, one, other) => `login\t${name}\nanna\t${one}\nbo\t${other}\n`,
  'a table in a quotation': (name, one, other) =>
    `> | Login | ${name} |\n> |---|---|\n> | anna | ${one} |\n> | bo | ${other} |\n`,
  'a table of MySQL': (name, one, other) =>
    `+-------+------+\n| login | ${name} |\n+-------+------+\n| anna | ${one} |\n| bo | ${other} |\n+-------+------+\n`,
  'CSV with line ends in a cell': (name, one, other) =>
    `site,notes,${name}\nshop,"first ""line""\nand a second, longer one",${one}\nmail,none,${other}\n`,
  'the output of a database': (name, one, other) =>
    ` login | ${name}\n-------+----------\n anna  | ${one}\n bo    | ${other}\n`,
}

describe.each(Object.entries(tables))('%s', (_, table) => {
  it.each(names)('has passwords below %j', (name) => {
    const [one, other] = [password(), password()]
    expect(found(`${table(name, one, other)}\nThe end.\n`)).toEqual([one, other])
  })
})

it('finds the values of a column in a statement of SQL', () => {
  const [one, other] = [password(), password()]
  for (const text of [
    `INSERT INTO users (login, password) VALUES ('anna', '${one}'), ('bo', '${other}');`,
    `INSERT INTO users ("login", "password", "age")\nVALUES\n  ('O''Brien', '${one}', 4),\n  ('bo', '${other}', 5)`,
  ])
    expect(found(text)).toEqual([one, other])
})

it.each([
  'folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp\n,,login,Shop,,,0,https://shop.example,anna,§,\n',
  'login_uri,login_username,login_password\nhttps://shop.example,anna,§\n',
  'login_uri,login_password\nhttps://shop.example,§\n',
  'url,username,password,totp,extra,name,grouping,fav\nhttps://shop.example,anna,§,,"two\nlines",Shop,,0\n',
  '"Account","Login Name","Password","Web Site","Comments"\n"Shop","anna","§","",""\n',
  'Title,URL,Username,Password,Notes,OTPAuth\nShop,https://shop.example/,anna,§,,\n',
  'SSID;WLAN-Passwort\nHaus;§\n',
  '| SSID | WiFi password |\n|--|--|\n| Haus | § |\n',
  '| 账号 | 登录密码 |\n|--|--|\n| li | § |\n',
  'uid;pwd\nanna;§\n',
  'user,dbPassword\nanna,§\n',
])('finds the password in %j', (text) => {
  const groups = `${d.signs(6, 'abcdefghjk')}-K${d.signs(4, 'mnpqrst')}7-${d.signs(6, 'vwxyzabc')}`
  for (const one of [password(), groups]) expect(found(text.replace('§', () => one))).toEqual([one])
})

it('finds generated keys below the name of a key', () => {
  const key = `8f${d.signs(20, 'abcdefghjkmnpqrstuvwxyz')}4Kq9`
  expect(found(`Service,API key\nmaps,${key}\nmail,none\n`)).toEqual([key])
  expect(found(`| Token | Count |\n|--|--|\n| tokenizer_v2 | 12 |\n`)).toEqual([])
})

test.each([
  '| Option | Password |\n|--|--|\n| length | required |\n| hash | Argon2id |\n',
  '| Password | Passkey |\n|---|---|\n| 8 characters | WebAuthn2 |\n',
  'Enter the login, password, and role\nof anna, boris, and cat\n',
  'login,password,role\nanna,<password>,admin\nbo,%PASSWORD%,guest\n',
  'const { login, password, role } = body\nconst [a, b7Kq!xx, c] = rest\n',
  'login,password_reset_at\nanna,2026-05-06T10:00:00Z\n',
  'test,pass,fail\nlogin,12,Tests3\n',
  'user,password\n',
  'INSERT INTO users (login, password) VALUES ($1, $2)',
  'INSERT INTO users (login, password) VALUES (:login, :password)',
  // Aligned columns without accounts, and tables of HTML and JSON without passwords.
  'Option     Password\nlength     Kx7#2mQ9\n',
  '<table><tr><th>Login</th><th>Password</th></tr><tr><td>required</td><td>8 characters</td></tr></table>',
  '<table><tr><td>Kind</td><td>x</td></tr><tr><td>login</td><td>password</td></tr><tr><td>a</td><td>x7Kd#9mQ</td></tr></table>',
  '[["login","password"],["string","varchar(255)"]]',
  '["login","password"],["x7Kd#9mQ"]',
  // A row with the word is not the first line of a table.
  '| Column | Type |\n|---|---|\n| password | string |\n| x509_cert | text |\n| win32_sid2 | text |',
  'key,en,de\npassword,Password,Passwort\nerr_404,Not found,Nicht gefunden\nstep2of3,Step two,Schritt zwei\n',
  'key;de\npassword;Passwort\nlogin2fa!;Anmelden',
  'locale,login,password,submit\nde,Anmelden,Passwort,Los\nfr,Entrer#1,Mdp#2x9,Go',
  "INSERT INTO translations (locale, password) VALUES ('nl', 'Sleutel#2x')",
  // Bars without a ruler are no table.
  'a | password\nwhoami | x7Kd#9mQ\n',
  // The head says something about passwords.
  ...['with password', 'Reset password', 'Forgot password', 'No password', 'Password changed', 'password_reset_at'].map(
    (head) => `| Ticket | ${head} |\n|---|---|\n| one | x7Kd#9mQ |\n`,
  ),
  'test,pass\nlogin,x7Kd#9mQ\n',
  // Types, statistics, tickets, algorithms and routes.
  ...[
    'bcrypt(12)',
    'varchar(255)',
    'CHAR(60)',
    'string(64)',
    'char[64]',
    'env(DB_PASS1)',
    '12.3k/s',
    '1,234req/s',
    '0.94±0.02s',
    'p99=12ms',
    '10.5MB/s',
    'JIRA-1234',
    'PROJ-77/78',
    'RC4-HMAC',
    'SAML2.0',
    'WPA2-PSK',
    'IKEv2/EAP',
    'SSHA512',
    'PUT/v2/users',
    'x509_cert',
    'win32_sid2',
    'Tests3of4',
    'Win10Pro22H2',
    'UserV2Dto',
    'Q&A2024',
    'AES256*',
    'May2026',
    'db-tls-x509-k8s-prod1',
    'root@web01',
  ].flatMap((value) =>
    ['password', 'API key', 'Secret'].map((head) => `| username | ${head} |\n|---|---|\n| type | ${value} |\n`),
  ),
])('finds no password in %j', (text) => {
  expect(found(text)).toEqual([])
})

it('reports values of published examples with low confidence', () => {
  for (const value of ['changeme123', 'Wachtwoord#2x', 'Password123!'])
    expect(scan(`login,password\nanna,${value}\n`)).toMatchObject([{ kind: 'api_key', confidence: 'low' }])
})

it('finds no passwords below a row that only begins a piece of a longer text', () => {
  const rows = Array.from(
    { length: 24_000 },
    (_, at) => `word${at % 7},password,Passwort,x${(at * 7919) % 10_000}Kd#${at % 10}mQ`,
  )
  const text = `key,en,de,note\n${rows.join('\n')}\n`
  const scanner = new TextScanner()
  const parts = [...(text.match(/[\s\S]{1,50001}/g) ?? []).map((piece) => scanner.push(piece)), scanner.end()]
  expect(parts.flatMap((part) => part.findings)).toEqual([])
  expect(scan(text)).toEqual([])
})

it('finds the same values in a long list of SQL that arrives in pieces', () => {
  const rows = Array.from({ length: 9_000 }, (_, at) => `('user${at}', 'a street in a town ${at}', '${password()}')`)
  const text = `INSERT INTO t (login, address, password) VALUES ${rows.join(', ')};\n`
  const scanner = new TextScanner()
  const parts = [...(text.match(/[\s\S]{1,60000}/g) ?? []).map((piece) => scanner.push(piece)), scanner.end()]
  expect(parts.map((part) => part.text).join('')).toBe(text)
  expect(places(parts.flatMap((part) => part.findings))).toBe(places(scan(text)))
  expect(scan(text)).toHaveLength(rows.length)
})

it('reads each line once', () => {
  // Without this, the time of each of these texts is a hundred times as long.
  for (const unit of [
    'password,',
    'login,password\n',
    '<table><tr><th>password</th>',
    '<tr><td>password</td>',
    '<td>password</td>',
    '["password",',
    'a  password  ',
    '(a, password) values (',
    '| password ',
    'password;"',
  ])
    expect(scan(unit.repeat(40_000)).length).toBe(0)
})

it('finds each table of HTML among cells without one', () => {
  const cells = '<td>password</td> '.repeat(200)
  const value = ['x7Kd', '9mQ'].join('#')
  for (const tags of ['<table><tr>', '<TABLE><TR>', '<Table><Tr>']) {
    const table = `${tags}<td>login</td><td>password</td></tr><tr><td>a</td><td>${value}</td></tr></table>`
    const text = `${table}${cells}${table}${table}<tr>${cells}${table}`
    expect(scan(text).map(({ start, end }) => text.slice(start, end))).toEqual(Array(4).fill(value))
  }
})

it('finds the same values in a long table that arrives in pieces', () => {
  const rows = Array.from({ length: 12_000 }, (_, at) => `user${at},a street in a town ${at},${password()}`)
  const text = `login,address,password\n${rows.join('\n')}\n`
  const scanner = new TextScanner()
  const pieces = text.match(/[\s\S]{1,60000}/g) ?? []
  const parts = [...pieces.map((piece) => scanner.push(piece)), scanner.end()]
  expect(parts.map((part) => part.text).join('')).toBe(text)
  expect(places(parts.flatMap((part) => part.findings))).toBe(places(scan(text)))
  expect(scan(text)).toHaveLength(rows.length)
})

it('finds words with a number in tables that list accounts', () => {
  for (const word of ['falcon7', 'Sunflower22', 'lavender1984'])
    for (const table of Object.values(tables)) expect(found(table('password', word, 'Maulwurf9'))).toContain(word)
  for (const value of ['version2', 'windows11', 'sha256', 'oauth2'])
    expect(found(`login,password\nanna,${value}\n`)).toEqual([])
})
