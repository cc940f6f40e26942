import type { readDashboard, readWaiting } from '#lib/domains/console/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export type Dashboard = Output<typeof readDashboard>['data']
export type Waiting = Output<typeof readWaiting>['data']
