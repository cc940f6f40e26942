import { type OutboxParts, outboxService } from './service.ts'

/** Emails that no mail server delivers, and emails still to be sent. */
export const outboxModule = (deps: OutboxParts) => ({ useCases: { outbox: outboxService(deps) } })
