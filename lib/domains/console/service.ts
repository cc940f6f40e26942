import { dashboard } from './dashboard.ts'
import { overview } from './overview.ts'
import type { ConsolePorts } from './ports.ts'
import { consoleSearch } from './search.ts'
import { waitingForAdmins } from './waiting.ts'
import { workInProgress } from './work.ts'

/** The overview pages. Stores nothing: each domain answers for its own data. */
export const consoleService = (ports: ConsolePorts) => ({
  overview: overview(ports),
  work: workInProgress(ports),
  waiting: waitingForAdmins(ports),
  dashboard: dashboard(ports),
  search: consoleSearch(ports),
})
