import { piiService } from './service.ts'

/** The scan of texts for personal data. */
export const piiModule = (deps: Parameters<typeof piiService>[0]) => ({ useCases: { pii: piiService(deps) } })
