/** What an identity provider is called by: the host of its issuer. */
export const hostOf = (issuer: string): string => (URL.canParse(issuer) ? new URL(issuer).host : issuer)
