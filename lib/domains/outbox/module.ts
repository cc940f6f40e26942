import { type OutboxServiceDeps, outboxService } from './service.ts'

/** Emails that no mail server delivers, and emails still to be sent. */
export const outboxModule = (deps: OutboxServiceDeps) => ({ useCases: { outbox: outboxService(deps) } })
