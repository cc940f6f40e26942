import type { Endpoint } from '#lib/client/request.ts'
import type { readWaiting } from '#lib/domains/console/contract.ts'

export const waitingAt: Endpoint<typeof readWaiting> = { method: 'get', path: '/api/admin/waiting' }
