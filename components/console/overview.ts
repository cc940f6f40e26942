import type { readOverview, readWork } from '#lib/domains/console/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export type Overview = Output<typeof readOverview>['data']
export type OpenWork = Output<typeof readWork>
