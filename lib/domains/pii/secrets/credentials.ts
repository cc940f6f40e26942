import { searchDecoded } from '#lib/text/encoded-parts.ts'
import { beginsWord, KeywordFinder } from '../matching.ts'
import { assignedSecretAt, secretNames } from './assignments.ts'
import { isChosen, isGenerated, isNoLiteral, isPublishedValue } from './secret-values.ts'

/** A form of credentials. Every repetition is bounded. */
interface CredentialForm {
  /** Quick check for texts that may contain it; costs a tenth of the pattern. */
  sign: RegExp
  pattern: RegExp
}
const noun = String.raw`(?<!\p{L})(?:pass(?:word|wd|phrase|code)|pwd|api[ _-]?(?:key|secret|token)|secret(?:[ _-]?key)?|(?:access|auth|session|client|signing)[ _-]?(?:key|token|secret)|credentials?|密码|口令)["']?`
const value = String.raw`["']?[^\s"',;]{4,200}`
const called: CredentialForm = {
  sign: /[:=：]|\s(?:is|was)\s|[为是]/i,
  pattern: new RegExp(String.raw`${noun}\s?(?:[:=：]\s?|(?:is|was|为|是)\s(?=\S{0,40}\d))${value}`, 'giu'),
}
/**
 * With up to three words in between: then the value must contain a digit or symbol; a password may also be the only word on the rest of the
 * line.
 */
const calledOf: CredentialForm = {
  sign: /\p{L}\s?[:=：]|\s(?:is|was)\s/u,
  pattern: new RegExp(
    String.raw`${noun}(?:\s[\p{L}’']{1,15}){1,3}\s?(?:[:=：]\s?(?=["']?[^\s"',;]{0,40}[\d!#$%^&*_+~])|(?:is|was)\s(?=\S{0,40}\d))${value}`,
    'giu',
  ),
}
const passwordOf: CredentialForm = {
  sign: /\p{L}\s?[:=：]/u,
  pattern:
    /(?<!\p{L})(?:pass(?:word|wd|phrase|code)|pwd)(?:\s[\p{L}’']{1,15}){1,3}\s?[:=：]\s?["']?[^\s"',;.]{6,64}(?=["']?[.,;]?(?:\n|$))/giu,
}
const header: CredentialForm = { sign: /Bearer|Basic/i, pattern: /(?<=(?:Bearer|Basic)\s)[\w.~+/=-]{12,400}/giu }
const webToken: CredentialForm = {
  sign: /eyJ/,
  pattern: /(?<![\w-])eyJ[\w-]{8,2000}\.[\w-]{8,4000}(?:\.[\w-]{0,2000})?/g,
}
const inAddress: CredentialForm = {
  sign: /:\/\//,
  pattern: /(?<=[a-z][a-z0-9+.-]{1,15}:\/\/)[^\s/@:]{0,100}:[^\s/@]{1,200}(?=@)/gi,
}
/** Passwords and keys by their names, headers, JSON Web Tokens, URLs with a password. */
export const credentialForms: readonly CredentialForm[] = [called, calledOf, passwordOf, header, webToken, inAddress]

/** Whether the list could be the bytes of a key: 32 or 64. */
export const isKeyByteList = (list: readonly unknown[]): boolean =>
  (list.length === 32 || list.length === 64) &&
  list.every((one) => typeof one === 'number' && Number.isInteger(one) && one >= 0 && one < 256)
/**
 * Whether the list looks like random bytes of a key: practically every key has this many distinct values, while counts and scales have
 * fewer or are ordered.
 */
export function isKeyBytes(list: readonly unknown[]): boolean {
  if (!isKeyByteList(list)) return false
  const bytes = list.map(Number)
  const large = bytes.filter((one) => one >= 128).length
  const falls = bytes.filter((one, at) => one < (bytes[at - 1] ?? 0)).length
  return new Set(bytes).size >= list.length * 0.65 && large >= 4 && falls >= 4
}

/** Lists of bytes in JSON, and objects with bytes under numeric keys. */
const byteLists = /\[[\d\s,]{63,8000}\]|\{(?:\s{0,64}"\d{1,2}"\s?:\s?\d{1,3}\s{0,64},?){32,64}\}/g
const startsBytes = /[[{]\s{0,64}(?:\d|"0")/

const sticky = ({ pattern }: CredentialForm) => new RegExp(pattern.source, pattern.flags.replace('g', 'y'))
const headerAt = /(?<![\p{L}\p{N}])(?:Bearer|Basic|Token|ApiKey|GenieKey)["']?\s{1,2}["']?([\w.~+/=-]{12,4000})/iuy
const webTokenAt = sticky(webToken)
const addressAt = /:\/\/([^\s/@:]{0,100}:[^\s/@]{1,200})@/y
/** Placeholders for passwords in documentation and templates. */
const placeholder = /["'<>{}]|\$[A-Z_({]|%[sd]|\*{3}|‹|:$/

/** The subject 1234567890 of the sample token that documentation of JWT uses. */
const sampleSubject = '.eyJzdWIiOiIxMjM0NTY3ODkw'
const headerWords = ['bearer', 'basic', 'token', 'apikey', 'geniekey']
const headers = new Set(headerWords)
const names = new Set(secretNames)

/** Options of commands whose value is a password or `user:password`, with the programs that have them. The option precedes its value. */
const options: readonly (readonly [option: string, programs: string, value: 'password' | 'pair' | 'percent'])[] = [
  [
    '-u',
    'curl|wget|httpie|https?|xh|ab|mosquitto_(?:pub|sub)|svn|ldapsearch|jfrog|jf|hey|lftp|nxc|crackmapexec|influx|mc',
    'pair',
  ],
  ['--user', 'curl|wget|docker|svn|lftp|http|etcdctl', 'pair'],
  ['--user=', 'curl|wget|lftp|http', 'pair'],
  ['--proxy-user', 'curl|wget', 'pair'],
  ['-U', 'curl', 'pair'],
  ['-a', 'https?|xh|redis-cli|valkey-cli', 'pair'],
  ['--auth', 'https?|xh', 'pair'],
  ['--creds', 'etcdctl|skopeo|buildah|podman', 'pair'],
  ['--src-creds', 'skopeo', 'pair'],
  ['--dest-creds', 'skopeo', 'pair'],
  ['-U', 'smbclient|rpcclient|net|smbget|pth-\\w+|winexe|wmic|samba-tool', 'percent'],
  ['-a', 'redis-cli|valkey-cli|keydb-cli', 'password'],
  [
    '-p',
    'useradd|usermod|mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mysqlcheck|mariadb\\S*|sshpass|docker|podman|nerdctl|helm|buildah|skopeo|az|mongo\\S*|cqlsh|7z[ar]?|rar|unrar|rdesktop|vncpasswd|crackmapexec|nxc|oc|cf|ibmcloud|clickhouse\\S*|snowsql|trino|nmcli|evil-winrm|cypher-shell|neo4j\\S*|ansible\\S*|expect|ejabberdctl|kinit|cadaver|kafka\\S*|mc|ncftp\\w*|mongosh|psftp|twine|psexec(?:64)?',
    'password',
  ],
  ['-P', 'sqlcmd|bcp|isql|tsql|osql|mosquitto_(?:pub|sub)|zip|unzip|ipmitool|ipmi\\S*|plink|pscp|mc', 'password'],
  ['-pw', 'plink|pscp|psftp|putty|winscp', 'password'],
  ['-w', 'ldap\\w+|slap\\w+|nmcli', 'password'],
  ['-A', 'snmp\\w+', 'password'],
  ['-X', 'snmp\\w+', 'password'],
  ['-k', 'openssl', 'password'],
  ['-storepass', 'keytool|jarsigner', 'password'],
  ['-keypass', 'keytool|jarsigner', 'password'],
  ['-srcstorepass', 'keytool', 'password'],
  ['-deststorepass', 'keytool', 'password'],
  ['/p:', 'xfreerdp|wfreerdp|rdesktop|mstsc', 'password'],
  ['/rp', 'schtasks', 'password'],
  ['-a', 'curl', 'pair'],
]

/** Words of commands and statements that a password follows: SQL, PowerShell, configuration shells. */
const statements: readonly (readonly [keyword: string, form: RegExp])[] = [
  [
    'identified',
    /identified[ \t\n]{1,4}(?:with[ \t]+[\w'"@]{1,40}[ \t]+)?by[ \t]{1,4}(?:password[ \t]+)?(?=\\?["'`])/iy,
  ],
  [
    'convertto-securestring',
    /convertto-securestring[ \t]{1,4}(?:-asplaintext[ \t]+|-force[ \t]+|-string[ \t]+){0,3}(?=["'])/iy,
  ],
  ['networkcredential', /networkcredential\s?\(\s?(?:["'][^"'\n]{0,80}["']|[\w.$]{1,40})\s?,\s?(?=["'])/iy],
  ['pscredential', /pscredential\s?\(\s?(?:["'][^"'\n]{0,80}["']|[\w.$]{1,40})\s?,\s?(?=["'])/iy],
  ['authtoken', /authtoken[ \t]{1,3}(?=[\w"'])/iy],
  ['requirepass', /requirepass[ \t]{1,4}/iy],
  ['masterauth', /masterauth[ \t]{1,4}/iy],
  [
    'chpasswd',
    /(?<=echo[ \t]{1,2}["']?[\w.-]{1,32}):(?=\S{1,64}["']?[ \t]?\|[ \t]?(?:sudo[ \t](?:-\w[ \t])?)?chpasswd)/iy,
  ],
  ['psk', /psk[ \t]?=[ \t]?(?=["'])/iy],
  [
    'htpasswd',
    /htpasswd[ \t]{1,3}(?:-\w{1,8}[ \t]{1,3}){0,4}(?:-\w{0,6}b\w{0,6})[ \t]{1,3}(?:-\w[ \t]{1,3}|-C[ \t]\d+[ \t]){0,2}(?:[^\s|;&-][^\s|;&]{0,120}[ \t]{1,3}){1,2}(?=[^\s|;&]{4,160}[ \t]{0,3}(?:[\n\r|;&>)\x60]|$))/iy,
  ],
  ...['add_user', 'change_password', 'authenticate_user'].map(
    (word) =>
      [
        word,
        new RegExp(
          String.raw`(?<=rabbitmqctl[^\n|;&]{0,80}[ \t])${word}[ \t]{1,3}["']?[^\s"']{1,60}["']?[ \t]{1,3}(?=\S)`,
          'iy',
        ),
      ] as const,
  ),
  ['wpa_passphrase', /wpa_passphrase[ \t]{1,3}(?:"[^"\n]{1,40}"|'[^'\n]{1,40}'|[^\s"'=]{1,40})[ \t]{1,3}(?=\S)/iy],
  [
    'net use',
    /net use[ \t]{1,3}(?:[a-z*]:?[ \t]{1,3})?\\{2,4}[^\s]{1,120}[ \t]{1,3}(?:\/user:\S{1,64}[ \t]{1,3})?(?=[^\s/*])/iy,
  ],
  ['net user', /net user[ \t]{1,3}(?![/"])[^\s/]{1,64}[ \t]{1,3}(?=[^\s/*-])/iy],
  ['set-initial-password', /set-initial-password[ \t]{1,3}(?:--[\w-]{1,40}(?:=\S{1,20})?[ \t]{1,3}){0,2}(?=[^\s-])/iy],
  ['kinit', /kinit[ \t][^\n|;&<]{1,120}<<<[ \t]{0,2}/iy],
  ['lftp', /lftp[ \t]{1,3}(?:-\w[ \t]{1,3}){0,2}(?:-u|--user)[ \t]{1,3}["']?[^\s,"']{1,64},(?=\S)/iy],
  ['assword:', /assword:[^\n{}]{0,12}"?[ \t]{1,3}\{?[ \t\n]{0,8}(?:exp_)?send[ \t]{1,3}(?:--[ \t]{1,3})?(?=")/iy],
  ['rootpw', /rootpw[ \t]{1,3}(?:--plaintext[ \t]{1,3})?(?=[^\s-])/iy],
  ['enable secret', /enable secret[ \t]{1,3}(?:level[ \t]\d{1,2}[ \t]{1,3})?(?:0[ \t]{1,3})?(?=[^\s\d])/iy],
  ['snmp-server community', /snmp-server community[ \t]{1,3}(?=\S)/iy],
  ['wpa-psk', /wpa-psk[ \t]{1,3}(?=\S)/iy],
  ['user_pw', /user_pw[ \t]{1,3}(?=\S)/iy],
  ['owner_pw', /owner_pw[ \t]{1,3}(?=\S)/iy],
  ['rasdial', /rasdial[ \t]{1,3}(?:"[^"\n]{1,60}"|[^\s"]{1,60})[ \t]{1,3}[^\s/]{1,64}[ \t]{1,3}(?=[^\s/])/iy],
  [
    'chpasswd:',
    /chpasswd:[ \t]{0,4}\r?\n[ \t]{1,12}(?:expire:[^\n]{0,20}\n[ \t]{1,12})?list:[ \t]{0,4}(?:[|>][-+]?)?[ \t]{0,4}\r?\n[ \t]{1,16}(?:-[ \t]{1,4})?[\w.-]{1,32}:(?=\S)/iy,
  ],
  ['<<<', /(?<=(?:sudo[ \t]-s|passwd[ \t]--stdin[ \t]?\w{0,32})[ \t]{0,2})<<<[ \t]{0,2}(?=\S)/iy],
  ['getconnection', /getconnection\s?\([^()\n]{1,200},\s?(?:["'][^"'\n]{0,80}["']|[\w.$]{1,40})\s?,\s?(?=["'])/iy],
  ['sequelize(', /sequelize\(\s{0,8}["'][^"'\n]{0,80}["']\s?,\s{0,8}["'][^"'\n]{0,80}["']\s?,\s{0,8}(?=["'])/iy],
  ...['httpbasicauth', 'httpdigestauth', 'auth='].map(
    (word) => [word, new RegExp(String.raw`${word}\s?\(\s?["'][^"'\n]{1,80}["']\s?,\s?(?=["'])`, 'iy')] as const,
  ),
  // A user and a password after the word for access: `Login: anna / x`, `credentials: anna:x`.
  ...[
    'login',
    'zugang',
    'zugangsdaten',
    'credentials',
    'creds',
    'user/pass',
    'identifiants',
    'credenciales',
    'credenziali',
    'логин/пароль',
  ].map(
    (word) =>
      [
        word,
        new RegExp(
          String.raw`(?<![\p{L}_-])${word}["*]{0,3}[ \t]?[:：][ \t]{0,3}["\x60*]{0,3}[\w.@+-]{2,64}(?:[ \t]/[ \t]|:(?!/))(?=[^\s/"\x60]{0,60}\d)(?=[^\s/"\x60]{0,60}[A-Z!#$%&*?@^~+])(?=[^\s/:]{6,64}(?:[\s"\x60]|$))`,
          'iuy',
        ),
      ] as const,
  ),
  [':5432:', /(?<=[\w.*-]):5432:[^\s:/]{1,63}:[^\s:/]{1,63}:(?=[^\s:/])/iy],
  ['nmcli', /nmcli[ \t][^\n|;&]{1,160}?[ \t]password[ \t]{1,3}(?=\S)/iy],
]

/** Commands that read a password from the output of `echo`. */
const readers = ['sudo -s', '--password-stdin', 'passwd --stdin', 'cryptsetup lu', 'kinit ', 'gpg --batch']
const echoed =
  /(?:^|[\s;&|(\x60"'])(?:echo|printf)[ \t]{1,3}(?:-\w{1,3}[ \t]{1,3})?(["']?)([^\s"'|$\x60]{4,80}?)(?:\\n)?\1[ \t]{0,3}\|[^\n|;&]{0,60}$/

const byOption = new Map<string, { programs: RegExp; value: 'password' | 'pair' | 'percent' }[]>()
for (const [option, programs, value] of options)
  byOption.set(option, [
    ...(byOption.get(option) ?? []),
    // The program, at the start of a command, and anything but the end of the command.
    {
      programs: new RegExp(String.raw`(?:^|[\s/"'\x60;&|(])(?:${programs})(?:\.exe)?[ \t"][^\n|;]{0,240}$`, 'i'),
      value,
    },
  ])
const byStatement = new Map(statements)

/** Lower-case texts before the value of an option, or of a statement. */
const commandKeywords: readonly string[] = [
  ...new Set([...byOption.keys()].map((option) => ` ${option.toLowerCase()}`)),
  ...byStatement.keys(),
  ...readers,
]

/** Options that join the value without a space: `mysql -pSecret`. */
const joined = new Set(['-p', '-u', '/p:', '--user=', '-a', '-w'])
const before = 256
const gapAt = /[ \t]{1,3}(?:\\\r?\n[ \t]{1,12})?/y
const valueIn = /(?:\\?"([^"\n]{1,160}?)\\?"|'([^'\n]{1,160})'|([^\s"'`<>|;&()]{1,160}))/y

interface OptionSecret {
  start: number
  end: number
  isPublished: boolean
}

function secretIn(text: string, at: number, form: 'password' | 'pair' | 'percent'): OptionSecret | undefined {
  valueIn.lastIndex = at
  const match = valueIn.exec(text)
  const value = match?.[1] ?? match?.[2] ?? match?.[3] ?? ''
  if (!match || value === '') return undefined
  const start = at + match[0].indexOf(value)
  const isQuoted = match[3] === undefined
  const border = form === 'password' ? -1 : value.indexOf(form === 'pair' ? ':' : '%')
  if (form !== 'password' && border < 0) return undefined
  const password = value.slice(border + 1).replace(/[.,]$/, '')
  const name = value.slice(0, Math.max(0, border))
  if (isNoLiteral(password) || isNoLiteral(name) || password.length < 4 || /^\d{1,5}$/.test(password)) return undefined
  // A word may be a password after `user:`; elsewhere it may be a value of another option.
  if (form === 'password' && !isChosen(password, isQuoted)) return undefined
  return { start, end: start + border + 1 + password.length, isPublished: isPublishedValue(password) }
}

/** The password, or `user:password`, after this option of a command or this statement. */
function commandSecretAt(text: string, keyword: string, start: number): OptionSecret | undefined {
  const statement = byStatement.get(keyword)
  if (statement) {
    const from = keyword === 'chpasswd' ? text.lastIndexOf(':', start) : start
    statement.lastIndex = from
    return from >= 0 && start - from < 100 && statement.test(text)
      ? secretIn(text, statement.lastIndex, 'password')
      : undefined
  }
  if (readers.includes(keyword)) {
    const lead = text.slice(Math.max(0, start - before), start)
    const value = echoed.exec(lead)?.[2]
    return value === undefined ? undefined : secretIn(text, start - lead.length + lead.lastIndexOf(value), 'password')
  }
  const end = start + keyword.length
  const option = text.slice(start + 1, end)
  const known = byOption.get(option)
  if (known === undefined) return undefined
  gapAt.lastIndex = end
  const isJoined = keyword.endsWith('=') || keyword.endsWith(':') || !gapAt.test(text)
  const gap = isJoined ? end : gapAt.lastIndex
  if (gap === end && !joined.has(option)) return undefined
  const command = text.slice(Math.max(0, start - before), start + 1).replace(/\\\r?\n[ \t]*/g, ' ')
  for (const { programs, value } of known) {
    if (!programs.test(command)) continue
    const found = secretIn(text, gap, value)
    if (found) return found
  }
  return undefined
}

const commands = new Set(commandKeywords)
/** Keywords that may precede a credential or name one. */
export const credentialKeywords: readonly string[] = [
  ...new Set([...headerWords, 'eyj', '://', ...secretNames, ...commandKeywords]),
]

interface CredentialSpan {
  kind: 'credential' | 'private_key'
  start: number
  end: number
  /** Whether documentation and defaults use the value. */
  isPublished?: boolean
  /** Returns whether a text with it must be rejected. */
  isDefinite?: () => boolean
}

const always = (): boolean => true

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** The credential at this keyword: Web Tokens, headers, URLs with a password, options of commands, and values by their names. */
export function credentialAt(text: string, keyword: string, start: number): CredentialSpan | undefined {
  const span = (from: number, end: number): CredentialSpan => ({
    kind: 'credential',
    start: from,
    end,
    isDefinite: always,
  })
  if (keyword === 'eyj') {
    const token = match(webTokenAt, text, start)?.[0]
    const isWhole = beginsWord(text, start) && text.charAt(start - 1) !== '-'
    if (token === undefined || !isWhole) return undefined
    return { ...span(start, start + token.length), isPublished: token.includes(sampleSubject) }
  }
  if (keyword === '://') {
    if (!/[a-z][a-z0-9+.-]{0,15}$/i.test(text.slice(Math.max(0, start - 16), start))) return undefined
    const inside = match(addressAt, text, start)?.[1]
    if (inside === undefined || placeholder.test(inside)) return undefined
    const password = inside.slice(inside.indexOf(':') + 1)
    return {
      ...span(start + 3, start + 3 + inside.length),
      // The name of a variable in place of a password: `ACCESS_KEY`.
      isPublished:
        isPublishedPassword(password) || inside === `${password}:${password}` || /^[A-Z]+(?:_[A-Z]+)+$/.test(password),
    }
  }
  if (headers.has(keyword)) {
    const found = match(headerAt, text, start)
    const value = found?.[1] ?? ''
    if (found && (value.length >= 16 || /\d/.test(value)) && isGenerated(value))
      return {
        ...span(start + found[0].length - value.length, start + found[0].length),
        isPublished: keyword === 'basic' && isPublishedPair(value),
      }
  }
  if (names.has(keyword)) {
    const found = assignedSecretAt(text, keyword, start)
    if (found) return { kind: 'credential', ...found }
  }
  const found = commands.has(keyword) ? commandSecretAt(text, keyword, start) : undefined
  return found && { kind: 'credential', ...found }
}
/** Whether the value of Basic authentication is a user and a password that documentation uses. */
function isPublishedPair(value: string): boolean {
  const pair = Buffer.from(value, 'base64').toString('latin1')
  return pair.includes(':') && isPublishedPassword(pair.slice(pair.indexOf(':') + 1))
}
const isPublishedPassword = (password: string): boolean => password.length < 4 || isPublishedValue(password)

const keywords = new KeywordFinder(credentialKeywords)
/**
 * Definite credentials in a text, for rejecting it: a sentence about passwords is not one. Finds Web Tokens, headers and URLs with a
 * password, session keys by their names, and keys as lists of bytes. Pure and linear.
 */
export function credentialSpans(text: string): CredentialSpan[] {
  const spans = [...writtenSpans(text), ...searchDecoded(text, (part) => writtenSpans(part.text))].sort(
    (a, b) => a.start - b.start,
  )
  return spans.filter(({ start, end }, at) => start !== spans[at - 1]?.start || end !== spans[at - 1]?.end)
}
function writtenSpans(text: string): CredentialSpan[] {
  const spans: CredentialSpan[] = []
  keywords.find(text, (word, end) => {
    const keyword = credentialKeywords[word] ?? ''
    const span = credentialAt(text, keyword, end - keyword.length)
    if (span?.isDefinite?.() && spans.at(-1)?.end !== span.end) spans.push(span)
  })
  if (startsBytes.test(text))
    for (const { 0: match, index } of text.matchAll(byteLists)) {
      const isList = match.startsWith('[')
      const numbers = (isList ? match.slice(1, -1) : match.replace(/"\d{1,2}"\s?:/g, ' ').slice(1, -1)).split(',')
      if (isKeyBytes(numbers.map((one) => (one.trim() === '' ? Number.NaN : Number(one)))))
        spans.push({ kind: 'private_key', start: index, end: index + match.length })
    }
  return spans
}

/** Maximum length of a credential. */
const ahead = 12 * 1024
/** Characters of context needed before a position. */
const behind = 256
const portion = 256 * 1024

/**
 * {@link credentialSpans} for a text that arrives in arbitrary pieces; JSON's escaped line ends count as line ends. Uses memory for one
 * portion.
 */
export class CredentialScanner {
  #buffer = ''
  #offset = 0
  #told = 0

  push(piece: string): CredentialSpan[] {
    this.#buffer += piece
    return this.#buffer.length - this.#told < portion + ahead ? [] : this.#tell(this.#buffer.length - ahead)
  }
  /** Returns the remaining spans after the last piece. */
  end(): CredentialSpan[] {
    return this.#tell(this.#buffer.length)
  }

  #tell(until: number): CredentialSpan[] {
    const reported = this.#told
    const offset = this.#offset
    const text = this.#buffer.includes('\\') ? this.#buffer.replace(/\\[nrt]/g, '  ') : this.#buffer
    const spans = credentialSpans(text).filter(({ start }) => start >= reported && start < until)
    const keep = Math.max(0, until - behind)
    this.#buffer = this.#buffer.slice(keep)
    this.#told = until - keep
    this.#offset += keep
    return spans.map(({ kind, start, end }) => ({ kind, start: start + offset, end: end + offset }))
  }
}
