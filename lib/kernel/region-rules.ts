/** Member states of the European Economic Area: the EU, Iceland, Liechtenstein and Norway. Not Switzerland or the United Kingdom. */
export const eeaCountries: ReadonlySet<string> = new Set(
  'AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE IS LI NO'.split(' '),
)

/** Whether a region is the outer one or part of it. Null: not limited. A limit is never outside of none. */
export const isWithin = (inner: string | null, outer: string | null): boolean =>
  outer === null || inner === outer || (outer === 'eu' && inner !== null && eeaCountries.has(inner.toUpperCase()))
