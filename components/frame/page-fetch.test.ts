import { expect, it } from 'vitest'
import { fetchForRouter } from './page-fetch.ts'

const answering = (status: number, type: string) =>
  fetchForRouter(async () => new Response('', { status, headers: { 'content-type': type } }))

it.each([
  [502, 'text/html', { rsc: '1' }, 'rejects'],
  [503, 'text/html', { 'next-action': 'a' }, 'rejects'],
  [503, 'text/x-component', { rsc: '1' }, 'returns'],
  [503, 'application/problem+json', {}, 'returns'],
  [404, 'text/html', { rsc: '1' }, 'returns'],
  [200, 'text/x-component', { rsc: '1' }, 'returns'],
] as const)('fetchForRouter with status %i, type %s and headers %j %s', async (status, type, headers, outcome) => {
  const answer = answering(status, type)('/', { headers })
  if (outcome === 'rejects') await expect(answer).rejects.toThrow(TypeError)
  else expect((await answer).status).toBe(status)
})
