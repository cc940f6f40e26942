import type { GrantToken } from '../ports.ts'
import { tokenCreation } from './creation.ts'
import type { ManagementDeps } from './managed-token.ts'
import { tokenRevocation } from './revocation.ts'
import { tokenRotation } from './rotation.ts'

/** Creates, rotates and revokes tokens. Each operation locks the agent's row first, so that token counts are exact. */
export const tokenManagement = (deps: ManagementDeps & { grant: GrantToken }) => ({
  create: tokenCreation(deps),
  rotate: tokenRotation(deps),
  ...tokenRevocation(deps),
})
