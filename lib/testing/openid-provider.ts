import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'

/** A user of the provider. */
export interface ProviderUser {
  sub: string
  email?: string
  email_verified?: boolean
  /** Authentication methods (RFC 8176). */
  amr?: string[]
}
export const client = { id: 'knowledgepulse', secret: 'a secret between the two of them' }

/**
 * A certified OpenID provider (oidc-provider) on a free port of 127.0.0.1 that signs in the user set by `is` without a
 * prompt. Email addresses are at its UserInfo endpoint, and with `isInToken` also in the ID token.
 */
export async function openIdProviderFor(redirectUri: string, { isInToken = false }: { isInToken?: boolean } = {}) {
  let known: ProviderUser = { sub: 'nobody' }
  let answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'one' }] },
    cookies: { keys: ['only for tests'] },
    conformIdTokenClaims: !isInToken,
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'amr'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: () => '/who' },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ ...known, sub, name: 'Somebody' }) }),
    // Consent at the provider is not under test, so it is always granted.
    async loadExistingGrant(ctx: { oidc: { session: { accountId: string }; client: { clientId: string } } }) {
      const { session, client: asking } = ctx.oidc
      const grant = new provider.Grant({ accountId: session.accountId, clientId: asking.clientId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  const pages = provider.callback()
  answer = (request, response) =>
    request.url?.startsWith('/who')
      ? provider.interactionFinished(request, response, { login: { accountId: known.sub } })
      : pages(request, response)
  return {
    issuer,
    /** Sets the next user to sign in. */
    is(person: ProviderUser) {
      known = person
    },
    close: () =>
      new Promise((closed) => {
        server.close(closed)
        server.closeAllConnections()
      }),
  }
}
export type TestProvider = Awaited<ReturnType<typeof openIdProviderFor>>
