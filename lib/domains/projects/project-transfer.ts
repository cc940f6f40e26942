import type { Transaction } from '#lib/kernel/context.ts'
import { moveProjectsOfAgent } from './repository.ts'

/**
 * Moves the projects of a claimed agent to its owner's organization if the agent is their only member. The agent loses access to its other
 * projects, which stay in their organization.
 */
export const followAgent = (tx: Transaction, agent: string): Promise<number> => moveProjectsOfAgent(tx, { agent })
