import { CopyableId } from './copyable-id.tsx'

/** A `CopyableId` by its earlier name. Use `CopyableId` in new code. */
export const ShortId = (props: { id: string; what: string }) => <CopyableId {...props} />
