import { isPasswordName } from './assignments.ts'
import { isChosen, isGenerated, isGrouped, isPublishedValue } from './secret-values.ts'

/** A table with a column of secrets, or a list of values in SQL. */
export interface SecretColumns {
  /** The beginning of the line with the names, and the end of what precedes the first row. */
  start: number
  headEnd: number
  /** Where the rows begin, in order, and the end of the last one. */
  rows: number[]
  end: number
  secrets: { start: number; end: number; isPublished: boolean }[]
}

interface Cell {
  start: number
  end: number
  isQuoted: boolean
}
type Kind = 'password' | 'short' | 'key'
/** What each column contains. */
interface Columns {
  kinds: readonly (Kind | undefined)[]
  /** Whether a column says whose or what the secrets are: then a word with a number may be a password. */
  hasAccounts: boolean
}

/** Maximum length of the line with the names of columns on each side of a name, and of a row. */
const maxHead = 400
const maxRow = 2_000
/** The end of a cell after a name and at most two further words. */
const cellEnd = /s?(?:[ _-][\p{L}\p{M}-]{1,12}){0,2}[\])"'*_\x60 \t]{0,24}(?:[|,;\t]|\r?\n| {2})/uy
/** The same in HTML. */
const elementEnd = /s?(?:[ _-][\p{L}\p{M}-]{1,12}){0,2}:?\s{0,8}(?:<\/[a-z]{1,10}>\s{0,8}){0,4}<\/?t[hdr]\b/iuy
const tagsBefore = /(?:\s|<[^<>]{0,200}>){0,24}/y
const heading = /^(?=.*\p{L})[\p{L}\p{M}\p{N} _.#/’'()-]{1,40}$/u
const ruler = /^[ \t>]{0,8}[|+]?[ \t]{0,4}:?[-=]{1,200}:?[ \t]{0,4}(?:[|+][ \t:|+=-]{0,400})?\r?$/
const lineLead = /[ \t>]{0,16}/y

/** Words for password that also name other codes. */
const otherCodes = new Set(
  'mk|parole|رمز|รหัส|暗号|šifra|шифра|losung|heslem|lösen|pin-code|pincode|inlogcode|access code|login code|unlock code|zugangscode|zugangsdaten|kode akses|code secret|codice di accesso|codice accesso|código de acceso|codigo de acceso|código de acesso|codigo de acesso|mã pin|提取码'.split(
    '|',
  ),
)
/** Words beside the word for password in the name of a column that say whose it is. */
const owners =
  /^(?:users?|db|database|admin|administrator|root|wi-?fi|wlan|login|logon|account|e-?mail|mail|ftp|sftp|ssh|vpn|sudo|smtp|imap|pop3?|service|system|os|host|server|router|guest|initial|temporary|temp|default|current|plain|plaintext|app|application|portal|web|site|website|master|backup|network|remote|rdp|vnc|client|customer|student|employee|member|staff|owner|device|zip|archive|keystore|benutzer|nutzer|start|standard|datenbank|konto|de|del|do|da|della|du|la|le|el|of|for|für|the|utilisateur|usuario|usuário|utente|iniciales?|inicial|iniziale|provisoire|temporal)$/u
const joinedOwner =
  /^(?:wlan|wifi|admin|start|initial|benutzer|datenbank|db|root|nutzer|konto|master|standard|user|login)-?/
const ownersInHan =
  /^(?:登录|初始|用户|管理员|默认|账号|帐号|账户|数据库|ログイン|初期|ユーザー|管理者|로그인|초기|관리자)/u
const keyName =
  /^(?:[a-z]+[ _-]){0,2}(?:(?:api|access|secret|auth|private|signing)[ _-]?key|(?:client|app|api|webhook|shared)[ _-]?secret|secret|(?:access|api|auth|bearer|refresh)[ _-]?token)$/
const shortName = /^(?:[a-z]+[ _-])?(?:pass|pw|psw|pwd)$/
/** Names of columns that say whose or what the secret is. */
const account =
  /user|login|logon|account|mail|^(?:name|host|hostname|server|url|uri|site|website|service|app|system|ssid|wi-?fi|wlan|network|device|router|db|database|title|id|uid)$|benutzer|nutzer|konto|anmelde|dienst|gerät|identifiant|utilisateur|compte|nom|usuario|usuário|correo|cuenta|conta|utente|nome|nombre|gebruiker|naam|użytkownik|konto|uživatel|användare|bruger|bruker|käyttäjä|felhasználó|utilizator|kullanıcı|логин|пользовател|користувач|имя|почта|χρήστης|مستخدم|کاربر|משתמש|उपयोगकर्ता|用户|用戶|账号|帐号|帳號|账户|姓名|邮箱|ユーザー|アカウント|名前|사용자|계정|아이디|ผู้ใช้|tài khoản|pengguna|akun/u
/** Names of columns in tables of translations. */
const translated = /^(?:locale|lang|language|translations?|i18n|msgid|sprache|langue|idioma)$|^[a-z]{2}-[A-Z]{2}$/
const languageCode = /^(?:en|de|fr|es|it|pt|nl|pl|cs|sv|da|fi|hu|ro|tr|ru|uk|el|ar|he|hi|zh|ja|ko|vi|th)$/

/** At least two spaces separate columns that are aligned. */
const spaces = '  '
/** A line under or above the names, without a separator of cells. */
const rulerOfSpaces = /^[-=~ \t]{3,400}\r?$/

const isQuote = (sign: string): boolean => sign === '"' || sign === "'" || sign === '`'
/**
 * The cells of a line from `start` to `end`, without quotes, emphasis and white space around them. `quotes`: the signs that enclose separators;
 * two of them in a row are a part of the cell.
 */
function cellsIn(text: string, start: number, end: number, separator: string, quotes: string): Cell[] {
  const cells: Cell[] = []
  const add = (from: number, to: number): void => {
    let [first, last] = [from, to]
    while (first < last && /\s/.test(text.charAt(first))) first += 1
    while (last > first && /\s/.test(text.charAt(last - 1))) last -= 1
    const sign = text.charAt(first)
    const isQuoted = last - first > 1 && isQuote(sign) && text.charAt(last - 1) === sign
    cells.push(isQuoted ? { start: first + 1, end: last - 1, isQuoted } : { start: first, end: last, isQuoted })
  }
  if (separator === spaces) {
    let from = start
    for (const { 0: gap, index } of text.slice(start, end).matchAll(/ {2,}/g)) {
      if (start + index > from) add(from, start + index)
      from = start + index + gap.length
    }
    if (from < end) add(from, end)
    return cells
  }
  let from = start
  let quote = ''
  let isBlank = true
  for (let at = start; at < end; at++) {
    const sign = text.charAt(at)
    if (quote !== '') {
      if (sign === quote && text.charAt(at + 1) === quote) at += 1
      else if (sign === quote) quote = ''
    } else if (sign === separator && text.charAt(at - 1) !== '\\') {
      add(from, at)
      from = at + 1
      isBlank = true
    } else if (isBlank && quotes.includes(sign)) {
      quote = sign
      isBlank = false
    } else if (sign !== ' ' && sign !== '\t') isBlank = false
  }
  add(from, end)
  if (separator !== '|') return cells
  const isEmpty = (cell: Cell | undefined) => cell !== undefined && cell.start === cell.end
  return cells.slice(isEmpty(cells[0]) ? 1 : 0, isEmpty(cells.at(-1)) ? -1 : undefined)
}

const plainName = (name: string): string => name.replace(/^[*_`]{1,3}|[*_`]{1,3}$/g, '')

/** What the cells below this name contain, if they contain secrets. */
function kindOf(name: string): Kind | undefined {
  const plain = plainName(name).replace(/[()]/g, '')
  const camel = plain.replace(/(?<=[a-z])(?=[A-Z])/g, '_')
  return kindOfLower(plain.toLowerCase()) ?? (camel === plain ? undefined : kindOfLower(camel.toLowerCase()))
}
function kindOfLower(name: string): Kind | undefined {
  if (shortName.test(name)) return 'short'
  if (keyName.test(name)) return 'key'
  const words = name.split(/[ _.-]+/)
  for (let from = 0; from < words.length; from++)
    for (let to = words.length; to > from; to--) {
      const word = words.slice(from, to).join(' ')
      const isName = [word, word.replace(/s$/, ''), word.replace(joinedOwner, ''), word.replace(ownersInHan, '')].some(
        (one) => isPasswordName(one) && !otherCodes.has(one),
      )
      if (isName && [...words.slice(0, from), ...words.slice(to)].every((other) => owners.test(other)))
        return 'password'
    }
  return undefined
}

/** What the columns with these names contain; undefined if none contains secrets, or if the rows are translations. */
function columnsOf(names: readonly string[]): Columns | undefined {
  const kinds = names.map(kindOf)
  if (names.length < 2 || !kinds.some(Boolean)) return undefined
  const others = names.filter((_, at) => kinds[at] === undefined).map(plainName)
  if (others.some((name) => translated.test(name) || /^locale|^lang/i.test(name))) return undefined
  if (others.filter((name) => languageCode.test(name)).length > 1) return undefined
  const hasAccounts = others.some((name) => account.test(name.toLowerCase()))
  const known = kinds.map((kind) => (kind === 'short' && !hasAccounts ? undefined : kind))
  return known.some(Boolean) ? { kinds: known, hasAccounts } : undefined
}

/**
 * What tables contain below such names instead of a secret: a type (`varchar(255)`), an assignment (`p99=12ms`), a number with a unit
 * (`12.3k/s`, `0.94±0.02s`), an address without a domain, a month, a code of a ticket, an algorithm, a version or a route (`JIRA-1234`, `RC4-HMAC`,
 * `SAML2.0`, `IKEv2/EAP`).
 */
const descriptions = [
  /^[\p{L}_][\w.]*[([]/u,
  /^[\w.-]+[=<>≥≤]{1,2}[\w.]/,
  /^[<>~≈≤≥±+-]{0,2}\d[\d.,_]*(?:[±+/-]\d[\d.,]*)?[\p{L}%µ°]{1,8}(?:\/\p{L}{1,12})?$/u,
  /^[A-Z]&[A-Z]\d*$/,
  /^[a-z][\w.-]*@[a-z][a-z\d.-]*$/,
  /^(?:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)\p{L}{0,6}[-_./]?\d{2,4}$/iu,
  /^(?:n?varchar|char|string|text|int|integer|number|binary|blob|bytea|uuid|float|decimal|bigint|size|min|max|level|step|windows|version)\d+\p{L}{0,8}$/iu,
  /^(?:min|max|at)?\d+\+?(?:chars?|characters|digits|letters|bits?|bytes?)/i,
]
const part =
  /^(?:v?\d+|[a-z]?[A-Z]{1,8}[a-z]?v?\d{0,5}[A-Z]?|[A-Z]?[a-z]+\d{0,4}|\d{1,5}[A-Za-z]{0,4}|[A-Z\d]{1,6}|[a-z]{1,3}\d{1,3}[a-z]{1,2})$/
/** Footnotes after a value. */
const footnote = /(?:\*{1,3}|[†‡]|\[\^?\d+\])$/
/** Whether the value consists of words, numbers and abbreviations: `Tests3of4`, `Win10Pro22H2`. */
function hasParts(value: string): boolean {
  if (value.split(/[-_/.+:]/).every((one) => one === '' || part.test(one))) return true
  const words = value.match(/[A-Z][a-z]{2,}|[a-z]{3,}/g)?.join('').length ?? 0
  return (value.length < 14 || !isGenerated(value)) && words >= 0.6 * value.replace(/[^A-Za-z]/g, '').length
}
const strongSign = /[!@#$%^&*?~]/
const changes = /[a-z](?=[A-Z\d])|[A-Z](?=\d)|(?<=[A-Z])[A-Z](?=[a-z])|\d(?=[A-Za-z])/g
/** Groups of a printed code: `KX7R-9T2M-QQ4P`. */
const isPrinted = (value: string): boolean =>
  /^[A-Z\d]{3,6}(?:-[A-Z\d]{3,6}){2,}$/.test(value) &&
  value.split('-').filter((group) => /[A-Z]\d|\d[A-Z]/.test(group)).length > 1

/** What Apple's programs suggest: three groups of six, with a capital and a digit. */
const isSuggested = (value: string): boolean =>
  /^[A-Za-z\d]{6}(?:-[A-Za-z\d]{6}){2}$/.test(value) &&
  /[A-Z]/.test(value) &&
  /[a-z]{3}/.test(value) &&
  /\d/.test(value)

const numberedWord = /^\p{Lu}?\p{Ll}{4,}\d{1,6}$/u

function isPassword(value: string, hasAccounts: boolean): boolean {
  if (isSuggested(value)) return true
  // A word with a number is the name of a version or a standard unless the table lists accounts.
  const isNumbered = hasAccounts && numberedWord.test(value)
  if (!isChosen(value, isNumbered) && !isGenerated(value)) return false
  if (descriptions.some((description) => description.test(value))) return false
  // Words and abbreviations have vowels or fewer digits.
  const isUnspeakable = hasAccounts && /^(?=.*[b-z]{3})[^aeiouyAEIOUY]{8,}$/.test(value) && /\d.*\d.*\d/.test(value)
  if (isUnspeakable || isNumbered || isGrouped(value) || isPrinted(value)) return true
  if (!/\p{L}/u.test(value) || !/\d/.test(value)) return false
  if (strongSign.test(value.replace(footnote, ''))) return value.length > 6
  if (value.length < 8) return false
  if (hasParts(value) || (value.includes('/') && !isGenerated(value))) return false
  return (value.match(changes)?.length ?? 0) > (hasAccounts ? 2 : 3)
}

function isSecret(kind: Kind, value: string, hasAccounts: boolean): boolean {
  if (kind !== 'key') return isPassword(value, hasAccounts)
  return value.length > 15 && isGenerated(value) && !hasParts(value) && !descriptions.some((one) => one.test(value))
}

/** Values of documentation, and the word for password with a number. */
const isExample = (value: string): boolean =>
  isPublishedValue(value) || value.split(/[^\p{L}\p{M}]+/u).some((word) => isPasswordName(word.toLowerCase()))

function addSecrets(text: string, cells: readonly Cell[], { kinds, hasAccounts }: Columns, found: SecretColumns): void {
  for (const [at, cell] of cells.entries()) {
    const kind = kinds[at]
    const value = text.slice(cell.start, cell.end)
    if (kind === undefined || value.length < 6 || value.length > 300 || !isSecret(kind, value, hasAccounts)) continue
    found.secrets.push({ start: cell.start, end: cell.end, isPublished: isExample(value) })
  }
}

/** Finds the columns of secrets in one text. */
export class ColumnReader {
  readonly #text: string
  /** Whether the text begins within a longer one, so that its first line may be a row. */
  readonly #isContinued: boolean
  /** The end of the last table, and the line that was examined last. */
  #end = 0
  #line = -1
  readonly #tables = new LastTag('<table')
  readonly #rows = new LastTag('<tr')

  constructor(text: string, isContinued = false) {
    this.#text = text
    this.#isContinued = isContinued
  }

  /**
   * The table or list of SQL in which the word from `start` to `end` is a part of the name of a column: columns of Markdown, CSV with commas,
   * semicolons or tabs, output of databases, `(login, password) VALUES (…)`. The names are in the first line of their table; with bars, a
   * ruler follows them. Every line and every row is read once, so the time is linear.
   */
  at(start: number, end: number): SecretColumns | undefined {
    if (start < this.#end) return undefined
    const found =
      this.#listAt(start, end) ??
      this.#arraysAt(start, end) ??
      this.#elementsAt(start, end) ??
      this.#tableAt(start, end)
    if (found) this.#end = found.end
    return found
  }

  #tableAt(start: number, end: number): SecretColumns | undefined {
    const text = this.#text
    cellEnd.lastIndex = end
    if (!cellEnd.test(text)) return undefined
    const lead = text.slice(Math.max(0, start - maxHead), start)
    const lineStart = lead.lastIndexOf('\n') + 1
    if (lineStart === 0 && start > maxHead) return undefined
    const headStart = start - lead.length + lineStart
    if (headStart === this.#line) return undefined
    const tail = text.slice(end, end + maxHead).indexOf('\n')
    if (tail < 0) return undefined
    this.#line = headStart
    const headEnd = end + tail
    const headLine = text.slice(headStart, headEnd)
    const nextLine = text.slice(headEnd + 1, headEnd + 1 + maxHead).split('\n', 1)[0] ?? ''
    const separator = [...'|\t;,', spaces].find((sign) => headLine.trim().includes(sign))
    if (separator === undefined || !this.#isFirst(headStart, separator)) return undefined
    // Jira writes `||login||password||` above `|anna|x|`.
    const isDoubled = /^\s{0,8}\|\|[^|]{1,60}\|\|/.test(headLine) && !nextLine.includes('||')
    const isRuled = (ruler.test(nextLine) && /[|+]/.test(nextLine)) || isDoubled
    const isFollowed = nextLine.includes(separator) || (separator === spaces && rulerOfSpaces.test(nextLine))
    if (separator === '|' ? !isRuled : !isFollowed) return undefined
    const quotes = separator === '|' ? '' : '"'
    lineLead.lastIndex = headStart
    lineLead.test(text)
    const names = cellsIn(text, separator === '|' ? lineLead.lastIndex : headStart, headEnd, separator, quotes)
      .map((cell) => text.slice(cell.start, cell.end))
      .filter((name) => !isDoubled || name !== '')
    // Sentences and lists of programs contain commas and semicolons.
    const maxWords = separator === '|' || separator === '\t' ? 5 : 3
    if (!names.every((name) => heading.test(plainName(name)) && name.split(' ').length <= maxWords)) return undefined
    const columns = columnsOf(names)
    if (separator === spaces && columns?.hasAccounts !== true) return undefined
    return columns && this.#rowsAfter(headStart, headEnd + 1, separator, columns)
  }

  /** Whether no line of the same table precedes the line that begins here. */
  #isFirst(lineStart: number, separator: string): boolean {
    if (lineStart === 0) return !this.#isContinued
    const before = this.#text.slice(Math.max(0, lineStart - 1 - maxRow), lineStart - 1)
    const from = before.lastIndexOf('\n') + 1
    if (from === 0 && (this.#isContinued || before.length === maxRow)) return false
    const line = before.slice(from)
    return !line.includes(separator) || (separator === spaces && (rulerOfSpaces.test(line) || line.trim() === ''))
  }

  /** The end of the row that begins here: a line, or several of them where line ends are in quotes. */
  #rowEnd(start: number, separator: string): number {
    const text = this.#text
    const lineEnd = text.indexOf('\n', start)
    const first = lineEnd < 0 ? text.length : lineEnd
    if (separator === '|' || separator === '\t' || !text.slice(start, first).includes('"')) return first
    const limit = Math.min(text.length, start + maxRow)
    let isIn = false
    for (let at = start; at < limit; at++) {
      const sign = text.charAt(at)
      if (sign === '"' && (isIn || at === start || text.charAt(at - 1) === separator)) isIn = !isIn
      else if (sign === '"' && text.charAt(at - 1) === '"') isIn = true
      else if (sign === '\n' && !isIn) return at
    }
    return limit === text.length && !isIn ? limit : first
  }

  /** The rows from `at`: lines with as many cells as the first one. */
  #rowsAfter(start: number, at: number, separator: string, columns: Columns): SecretColumns {
    const text = this.#text
    const found: SecretColumns = { start, headEnd: at, rows: [], end: at, secrets: [] }
    for (let place = at; place < text.length; ) {
      const rowEnd = this.#rowEnd(place, separator)
      if (rowEnd - place > maxRow) break
      const isRuler =
        place === at && (ruler.test(text.slice(place, rowEnd)) || isRulerOf(separator, text, place, rowEnd))
      if (isRuler) found.headEnd = rowEnd + 1
      else {
        lineLead.lastIndex = place
        lineLead.test(text)
        const isBarred = separator === '|'
        const cells = cellsIn(text, isBarred ? lineLead.lastIndex : place, rowEnd, separator, isBarred ? '' : '"')
        if (cells.length === columns.kinds.length) addSecrets(text, cells, columns, found)
        else if (!isBarred || cells.length < 2) break
        found.rows.push(place)
        found.end = rowEnd
      }
      place = rowEnd + 1
    }
    return found
  }

  /** The table of HTML in whose first row the name is: `<tr><th>Login</th><th>Password</th></tr>`. */
  #elementsAt(start: number, end: number): SecretColumns | undefined {
    const text = this.#text
    elementEnd.lastIndex = end
    if (!elementEnd.test(text)) return undefined
    const from = Math.max(0, start - maxRow)
    const table = this.#tables.before(text, from, start)
    if (table < 0) return undefined
    const row = this.#rows.before(text, table, start)
    if (row < 0 || row === this.#line || /<\/tr/i.test(text.slice(table, row))) return undefined
    this.#line = row
    const headEnd = endOfRow(text, row)
    if (headEnd < 0) return undefined
    const names = elementsIn(text, row, headEnd).map((cell) => text.slice(cell.start, cell.end).replace(/:$/, ''))
    if (!names.every((name) => heading.test(name) && name.split(' ').length < 6)) return undefined
    const columns = columnsOf(names)
    if (!columns) return undefined
    const found: SecretColumns = { start: table, headEnd, rows: [], end: headEnd, secrets: [] }
    for (let at = headEnd; ; at = found.end) {
      rowStart.lastIndex = at
      if (!rowStart.test(text)) return found
      const [first, last] = [rowStart.lastIndex, endOfRow(text, rowStart.lastIndex)]
      if (last < 0) return found
      const cells = elementsIn(text, first, last)
      if (cells.length === names.length) addSecrets(text, cells, columns, found)
      found.rows.push(at)
      found.end = last
    }
  }

  /** Rows of JSON below the names of their columns: `[["login","password"],["anna","x"]]`, `{"columns":[…],"rows":[[…]]}`. */
  #arraysAt(start: number, end: number): SecretColumns | undefined {
    const text = this.#text
    if (text.charAt(end) !== '"' || !/^\s{0,3}[,\]]/.test(text.slice(end + 1, end + 5))) return undefined
    const from = Math.max(0, start - maxHead)
    const opening = text.slice(from, start).lastIndexOf('[')
    const length = text.slice(start, start + maxHead).indexOf(']')
    if (opening < 0 || length < 0 || from + opening === this.#line) return undefined
    this.#line = from + opening
    const close = start + length
    const gap = /^\]\s{0,8},\s{0,8}(?:"(?:rows|data|values|records|items)"\s{0,4}:\s{0,4}\[\s{0,8})?(?=\[)/.exec(
      text.slice(close, close + 64),
    )
    if (!gap) return undefined
    const names = cellsIn(text, from + opening + 1, close, ',', '"')
    const columns = columnsOf(names.map((cell) => text.slice(cell.start, cell.end)))
    if (!columns || !names.every((cell) => cell.isQuoted && heading.test(text.slice(cell.start, cell.end))))
      return undefined
    const headEnd = close + gap[0].length
    const found: SecretColumns = { start: from + opening, headEnd, rows: [], end: headEnd, secrets: [] }
    array.lastIndex = headEnd
    for (let match = array.exec(text); match; match = array.exec(text)) {
      const last = array.lastIndex
      const first = last - 1 - (match[1] ?? '').length
      const cells = cellsIn(text, first, last - 1, ',', '"')
      if (cells.length !== names.length) break
      found.rows.push(found.end)
      found.end = last
      const kinds = columns.kinds.map((kind, at) => (cells[at]?.isQuoted === true ? kind : undefined))
      addSecrets(text, cells, { ...columns, kinds }, found)
      array.lastIndex = last
    }
    return found
  }

  /** The values below the names of columns in a statement of SQL. */
  #listAt(start: number, end: number): SecretColumns | undefined {
    const text = this.#text
    if (!/^["'\x60\]]?\s{0,3}[,)]/.test(text.slice(end, end + 5))) return undefined
    const from = Math.max(0, start - maxHead)
    const opening = text.slice(from, start).lastIndexOf('(')
    const length = text.slice(start, start + maxHead).indexOf(')')
    if (opening < 0 || length < 0) return undefined
    const close = start + length
    const values = /^\)\s{0,8}values\s{0,8}(?=\()/i.exec(text.slice(close, close + 32))
    if (!values) return undefined
    const names = cellsIn(text, from + opening + 1, close, ',', '"\'`').map((cell) =>
      text.slice(cell.start, cell.end).replace(/^\[|\]$/g, ''),
    )
    const columns = columnsOf(names)
    if (!columns || !names.every((name) => heading.test(name))) return undefined
    const headEnd = close + values[0].length
    const found: SecretColumns = { start: from + opening, headEnd, rows: [], end: headEnd, secrets: [] }
    tuple.lastIndex = headEnd
    for (let match = tuple.exec(text); match; match = tuple.exec(text)) {
      found.end = tuple.lastIndex
      const first = found.end - 1 - (match[1] ?? '').length
      found.rows.push(first - 1)
      const cells = cellsIn(text, first, found.end - 1, ',', "'")
      if (cells.length !== names.length) break
      const kinds = columns.kinds.map((kind, at) => (cells[at]?.isQuoted === true ? kind : undefined))
      addSecrets(text, cells, { ...columns, kinds }, found)
      tuple.lastIndex = found.end
    }
    return found
  }
}
const tuple = /\s{0,8},?\s{0,8}\(([^()'\n]{0,400}(?:'(?:[^'\n]|''){0,400}'(?!')[^()'\n]{0,400}){0,80})\)/y
const array = /\s{0,8},?\s{0,8}\[([^[\]\n]{0,400})\]/y
const rowStart = /(?:\s|<\/?t(?:head|body|r)\b[^<>]{0,200}>){0,12}(?=<t[hd]\b)/iy
const cellStart = /<t[hd](?:\s[^<>]{0,200})?>/gi

/** The last occurrence of a tag before positions that increase. Reads each part of the text once. */
class LastTag {
  readonly #length: number
  readonly #tag: RegExp
  #last = -1
  #read = 0

  constructor(tag: string) {
    this.#length = tag.length
    this.#tag = new RegExp(tag, 'gi')
  }

  /** Where the last one begins that lies between the positions; -1 if there is none. */
  before(text: string, from: number, end: number): number {
    const start = Math.max(from, this.#read - this.#length + 1)
    if (start < end) {
      for (const { index } of text.slice(start, end).matchAll(this.#tag)) this.#last = start + index
      this.#read = end
    }
    return this.#last < from ? -1 : this.#last
  }
}
/** The end of a row of HTML: its end tag, or the start of the next row; -1 if there is none. */
function endOfRow(text: string, start: number): number {
  const length = text.slice(start + 1, start + maxRow).search(/<\/?tr\b|<\/table\b/i)
  return length < 0 ? -1 : start + 1 + length
}
/** The texts of the cells of a row of HTML. */
const elementsIn = (text: string, start: number, end: number): Cell[] =>
  [...text.slice(start, end).matchAll(cellStart)].map(({ 0: tag, index }) => {
    tagsBefore.lastIndex = start + index + tag.length
    tagsBefore.test(text)
    const first = Math.min(tagsBefore.lastIndex, end)
    const close = text.indexOf('<', first)
    return {
      start: first,
      end: first + text.slice(first, close < 0 ? end : Math.min(close, end)).trimEnd().length,
      isQuoted: false,
    }
  })
const isRulerOf = (separator: string, text: string, start: number, end: number): boolean =>
  separator === spaces && rulerOfSpaces.test(text.slice(start, end))
