import { Counter, collectDefaultMetrics, Registry } from 'prom-client'

/** Counts for Prometheus: operations, statuses and problem codes; nobody's id and no address is a label. Of this process alone. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'kp_' })
  const answers = new Counter({
    name: 'kp_answers_total',
    help: 'Answers by operation and status',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  const refusals = new Counter({
    name: 'kp_refusals_total',
    help: 'Refusals by problem code',
    labelNames: ['code'],
    registers: [registry],
  })
  return {
    answered: (operation: string, status: number): void => answers.inc({ operation, status }),
    refused: (code: string): void => refusals.inc({ code }),
    contentType: registry.contentType,
    text: (): Promise<string> => registry.metrics(),
  }
}
export type Metrics = ReturnType<typeof createMetrics>
