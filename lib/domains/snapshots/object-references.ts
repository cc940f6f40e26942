/** Whether a snapshot or an uploaded state names an object in the object store. */
export const snapshotsNameObjects = async (ask: (text: string, values: unknown[]) => Promise<unknown[]>) =>
  (await ask('SELECT 1 FROM state_bundles UNION ALL SELECT 1 FROM snapshots LIMIT 1', [])).length > 0
