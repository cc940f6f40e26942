import { MarkedText } from '#components/ui/marked-text.tsx'

const markForm = /‹[a-z_]{2,20}:\d{1,6}›/g

/** A value as JSON. Placeholders of removed data are marked. */
export function MarkedJson({ value, label }: { value: unknown; label: string }) {
  const text = JSON.stringify(value, null, 2)
  const spans = [...text.matchAll(markForm)].map(({ 0: mark, index }) => ({
    start: index,
    end: index + mark.length,
    tone: 'amber' as const,
  }))
  return <MarkedText text={text} spans={spans} label={label} />
}
