/** Seconds of one time step (RFC 6238 §5.2). */
const period = 30

interface TotpLabel {
  /** The name of the installation. */
  issuer: string
  email: string
}
// Loaded at first use: most processes never need it.
const totpOf = async (secret: Uint8Array | undefined, { issuer, email }: TotpLabel = { issuer: '', email: '' }) => {
  const { Secret, TOTP } = await import('otpauth')
  const key = secret ? new Secret({ buffer: new Uint8Array(secret).buffer }) : new Secret({ size: 20 })
  return new TOTP({ issuer, label: email, algorithm: 'SHA1', digits: 6, period, secret: key })
}

/** A new secret of 20 random bytes (RFC 4226 §4), for the person in base32, and the `otpauth:` URI for a QR code. */
export async function newTotpSecret(label: TotpLabel): Promise<{ secret: Uint8Array; base32: string; uri: string }> {
  const totp = await totpOf(undefined, label)
  return { secret: totp.secret.bytes, base32: totp.secret.base32, uri: totp.toString() }
}

/** The time step of a code that is valid now or was valid one step earlier or later; undefined for any other code. */
export async function stepOfCode(secret: Uint8Array, code: string, now: Date): Promise<number | undefined> {
  const totp = await totpOf(secret)
  const delta = totp.validate({ token: code, timestamp: now.getTime(), window: 1 })
  return delta === null ? undefined : Math.floor(now.getTime() / 1000 / period) + delta
}
