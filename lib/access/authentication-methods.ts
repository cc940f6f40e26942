type Claims = Readonly<Record<string, unknown>>

/** Methods of RFC 8176 §2, by what they prove. */
const kindOf: ReadonlyMap<string, string> = new Map(
  Object.entries({
    pwd: 'knowledge',
    pin: 'knowledge',
    kba: 'knowledge',
    hwk: 'possession',
    swk: 'possession',
    otp: 'possession',
    sms: 'possession',
    tel: 'possession',
    sc: 'possession',
    face: 'inherence',
    fpt: 'inherence',
    iris: 'inherence',
    retina: 'inherence',
    vbm: 'inherence',
  }),
)
/** Values of `acr` with a published meaning: several factors, or a credential that cannot be phished. */
const strongClasses = new Set([
  'https://refeds.org/profile/mfa',
  'http://schemas.openid.net/pape/policies/2007/06/multi-factor',
  'phr',
  'phrh',
])

/**
 * Whether the identity provider reported a sign-in with one factor. It did if `amr` (RFC 8176) contains neither `mfa` nor methods of two
 * kinds, and `acr` names no known class with several factors. Without `amr` the provider reported nothing, and its sign-in counts.
 */
export function isOneFactor({ amr, acr }: Claims): boolean {
  if (!Array.isArray(amr) || amr.length === 0) return false
  if (typeof acr === 'string' && strongClasses.has(acr)) return false
  if (amr.includes('mfa')) return false
  const kinds = new Set(amr.map((method) => kindOf.get(String(method))))
  kinds.delete(undefined)
  return kinds.size < 2
}
