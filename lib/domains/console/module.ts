import type { ConsolePorts } from './ports.ts'
import { consoleService } from './service.ts'

/** The overview of the console. */
export const consoleModule = (deps: ConsolePorts) => ({ useCases: { console: consoleService(deps) } })
