import type { Endpoint } from '#lib/client/request.ts'
import type {
  changeRequirement,
  readRequirement,
  remindOfRequirement,
} from '#lib/domains/accounts/second-factors/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

export const requirementAt: Endpoint<typeof readRequirement> = { method: 'get', path: '/api/admin/second-factors' }
export const changeRequirementAt: Endpoint<typeof changeRequirement> = {
  method: 'put',
  path: '/api/admin/second-factors',
}
export const remindAt: Endpoint<typeof remindOfRequirement> = {
  method: 'post',
  path: '/api/admin/second-factors/reminders',
}
export type Requirement = Output<typeof readRequirement>['data']
