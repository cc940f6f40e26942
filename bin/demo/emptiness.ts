import type { App } from '#lib/app.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentListing } from '#lib/domains/agents/queries.ts'
import { countErasures } from '#lib/domains/erasure/queries.ts'
import { countHolds } from '#lib/domains/holds/queries.ts'
import { countRecords } from '#lib/domains/knowledge/queries.ts'
import { countRequests } from '#lib/domains/privacy-requests/queries.ts'
import { countProjects } from '#lib/domains/projects/queries.ts'
import { countTokens } from '#lib/domains/tokens/usage.ts'
import { countOtherConnections } from '#lib/platform/repository.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'

/** The maximum number of rows per table in an installation that counts as empty: the first start creates these rows. */
const atMost: Readonly<Record<string, number>> = { accounts: 1, agents: 1, organisations: 1, tokens: 1 }

/** Describes everything in the database besides the first admin and its agent. Empty for a new installation. */
export async function beyondFirstAdmin({ db }: Pick<App, 'db'>): Promise<string[]> {
  const tx = db.prisma
  const counts: Record<string, number> = {
    ...(await accountDirectory.count(tx)),
    agents: await agentListing(db).total(),
    tokens: await countTokens(tx),
    ...(await countRecords(tx)),
    projects: await countProjects(tx),
    requests: await countRequests(tx),
    ...(await countErasures(tx)),
    holds: await countHolds(tx),
  }
  return Object.entries(counts).flatMap(([what, count]) => (count > (atMost[what] ?? 0) ? [`${count} ${what}`] : []))
}

/** The number of other database connections. A running worker would execute the story's jobs at the current time. */
export async function othersConnected(ownerUrl: string): Promise<number> {
  const [counted] = await withConnection(ownerUrl, (client) => countOtherConnections(client, {}))
  return counted?.n ?? 0
}
