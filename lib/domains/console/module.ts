import { type ConsoleDeps, consoleService } from './service.ts'

/** The overview of the console. */
export const consoleModule = (deps: ConsoleDeps) => ({ useCases: { console: consoleService(deps) } })
