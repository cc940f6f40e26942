/** Names of fields that contain keys of wallets and sessions, in lower case without separators. */
const names = new Set(
  [
    'privatekey walletkey walletprivatekey walletsecret walletseed signerkey signingkey ownerkey accountkey keystore',
    'mnemonic seedphrase recoveryphrase mnemonicphrase walletmnemonic xprv extendedprivatekey',
    'sessionkey sessiontoken sessionsecret sessioncookie sessioncookies sessionprivatekey cookies accesstoken refreshtoken',
    'sessionjwt jwt jwttoken authtoken authkey authsecret authcookie authorization bearer bearertoken idtoken oauthtoken oauthsecret',
    'logintoken cookie cookiejar keypair walletkeypair signerkeypair privkey walletprivkey signertoken signersecret wallettoken',
    'walletpassword walletpassphrase',
  ].flatMap((line) => line.split(' ')),
)
/** Names that mean a secret only under a parent that says so: `{"session": {"token": …}}`. */
const ends = new Set(['token', 'key', 'secret', 'cookie', 'seed', 'password', 'passphrase', 'jwt'])
const plainName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')
/** `above`: the name of the parent object, or an empty string. */
export function isSecretName(name: string, above: string): boolean {
  const plain = plainName(name)
  if (names.has(plain)) return true
  return ends.has(plain) && names.has(plainName(above).replace(/s$/, '') + plain)
}

/** Only this many characters of a name are compared. */
const longestName = 128
const deepest = 1_000

interface Level {
  isList: boolean
  /** The current key, or the number of preceding elements. */
  at: string | number
}
export class TooDeep extends Error {}

/**
 * Copies JSON (one or more concatenated documents, in chunks of any size) and replaces the values of fields named
 * after secrets with `null`. Decodes escaped letters, so that escapes cannot hide a secret. Holds one chunk in memory.
 * Copies text that is not JSON unchanged.
 */
export class NamedSecrets {
  /** JSON paths of the watched offsets in the output (ascending). */
  readonly paths: string[] = []
  readonly #watched: number[]
  readonly #levels: Level[] = []
  #written = 0
  /** Within a string, either a key or a value. */
  #inText = false
  #isKey = false
  /** A key may follow: after `{` and after a comma in an object. */
  #awaitsKey = false
  #name = ''
  /** The incomplete escape: a backslash and the characters after it. */
  #escape = ''
  /** Set while a value is dropped: the depth of its object. */
  #dropped: number | undefined

  constructor(watched: readonly number[] = []) {
    this.#watched = [...watched]
  }

  push(text: string): string {
    const out: string[] = []
    let from = 0
    const keepUntil = (end: number): void => {
      if (this.#dropped === undefined && end > from) this.#write(out, text.slice(from, end))
      from = end
    }
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.#escape !== '') {
        keepUntil(at)
        this.#escape += text.charAt(at)
        from = at + 1
        if (this.#escape.length >= (this.#escape.charAt(1) === 'u' ? 6 : 2)) this.#unescape(out)
      } else if (this.#inText) {
        if (code === 92) {
          keepUntil(at)
          from = at + 1
          this.#escape = '\\'
        } else if (code === 34) {
          this.#inText = false
          const level = this.#levels.at(-1)
          if (this.#isKey && level) level.at = this.#name
        } else if (this.#isKey && this.#name.length < longestName) this.#name += text.charAt(at)
      } else if (code === 34) {
        this.#inText = true
        this.#isKey = this.#awaitsKey
        this.#awaitsKey = false
        this.#name = ''
      } else if (code === 123 || code === 91) {
        if (this.#levels.length >= deepest) throw new TooDeep()
        this.#levels.push({ isList: code === 91, at: code === 91 ? 0 : '' })
        this.#awaitsKey = code === 123
      } else if (code === 125 || code === 93 || code === 44) {
        const level = this.#levels.at(-1)
        if (this.#dropped === this.#levels.length) {
          this.#dropped = undefined
          from = at
          this.#write(out, 'null')
        }
        if (code !== 44) {
          keepUntil(at)
          this.#levels.pop()
          this.#awaitsKey = false
        } else if (level) {
          if (typeof level.at === 'number') level.at += 1
          this.#awaitsKey = !level.isList
        }
      } else if (code === 58) {
        const level = this.#levels.at(-1)
        if (level && !level.isList && this.#dropped === undefined && isSecretName(String(level.at), this.#above())) {
          keepUntil(at + 1)
          this.#dropped = this.#levels.length
        }
      }
    }
    keepUntil(text.length)
    return out.join('')
  }
  /** Returns an escape that was cut off at the end of the input. */
  end(): string {
    const out: string[] = []
    if (this.#dropped === undefined) this.#write(out, this.#escape)
    return out.join('')
  }

  /** The name of the current object. Arrays in between are skipped. */
  #above(): string {
    for (let depth = this.#levels.length - 2; depth >= 0; depth--) {
      const at = this.#levels[depth]?.at
      if (typeof at === 'string') return at
    }
    return ''
  }
  #unescape(out: string[]): void {
    const whole = this.#escape
    this.#escape = ''
    const code = whole.length === 6 ? Number(`0x${whole.slice(2)}`) : Number.NaN
    const isPlain = code >= 0x20 && code !== 34 && code !== 92 && !(code >= 0xd800 && code <= 0xdfff)
    const plain = isPlain ? String.fromCharCode(code) : whole === '\\/' ? '/' : whole
    if (this.#isKey && this.#name.length < longestName) this.#name += plain
    if (this.#dropped === undefined) this.#write(out, plain)
  }
  #write(out: string[], text: string): void {
    out.push(text)
    this.#written += text.length
    while (this.#watched[0] !== undefined && this.#watched[0] < this.#written) {
      this.#watched.shift()
      this.paths.push(this.#levels.map(({ at }) => at).join('.'))
    }
  }
}
