import { createLoader, createSerializer, parseAsStringLiteral } from 'nuqs/server'
import { rejectionPeriodNames } from '#lib/domains/knowledge/safety-rules.ts'

export const views = ['review', 'scanner'] as const
const parsers = {
  view: parseAsStringLiteral(views).withDefault('review'),
  period: parseAsStringLiteral(rejectionPeriodNames).withDefault('24h'),
}
export const loadPeriod = createLoader(parsers)
export const periodAddress = createSerializer(parsers)
