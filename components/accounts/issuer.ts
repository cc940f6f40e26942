/** Display name of an identity provider: the host of its issuer. */
export const hostOf = (issuer: string): string => (URL.canParse(issuer) ? new URL(issuer).host : issuer)
