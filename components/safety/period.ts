import { createLoader, createSerializer, parseAsStringLiteral } from '#components/frame/query-parsers.ts'
import { rejectionPeriodNames } from '#lib/domains/knowledge/moderation/safety-rules.ts'

export const safetyViews = ['review', 'scanner'] as const
const parsers = {
  view: parseAsStringLiteral(safetyViews).withDefault('review'),
  period: parseAsStringLiteral(rejectionPeriodNames).withDefault('24h'),
}
export const loadRejectionPeriod = createLoader(parsers)
export const rejectionPeriodAddress = createSerializer(parsers)
