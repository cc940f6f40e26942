import { copyOpen } from '#lib/domains/privacy-requests/form/rules.ts'
import { agentCopyRequests, copyRequests } from '#lib/domains/privacy-requests/repository.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Returns true when a verified request for access or portability exists for the participant, verified within 30 days. */
export const requestedCopy =
  (db: Database) =>
  async (participantId: string, now: Date): Promise<boolean> => {
    const records = await copyRequests(db, { participant: participantId, after: new Date(now.getTime() - copyOpen) })
    return records.length > 0
  }

/** The request for access or portability that the agent or its owner confirmed within 30 days. */
export const agentCopyRequest =
  (db: Database) =>
  async (agentId: string, now: Date): Promise<string | undefined> => {
    const [found] = await agentCopyRequests(db, { agent: agentId, after: new Date(now.getTime() - copyOpen) })
    return found?.id
  }
