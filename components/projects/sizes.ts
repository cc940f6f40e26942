import { useFormatter } from 'next-intl'
import { exportSizeOf } from '#components/privacy/export-rules.ts'
import { spacedDigits } from '#components/ui/punctuation.ts'

/** Formats a number of bytes with a suitable unit. */
export function useSizes(): (bytes: number) => string {
  const format = useFormatter()
  return (bytes) => {
    const { value, unit } = exportSizeOf(bytes)
    return spacedDigits(
      format.number(value, {
        style: 'unit',
        unit,
        unitDisplay: unit === 'byte' ? 'long' : 'short',
        maximumFractionDigits: 1,
      }),
    )
  }
}
