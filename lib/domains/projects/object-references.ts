/** Whether a row of a project names an object in the object store. */
export const projectsNameObjects = async (ask: (text: string, values: unknown[]) => Promise<unknown[]>) =>
  (await ask('SELECT 1 FROM attachments UNION ALL SELECT 1 FROM documents LIMIT 1', [])).length > 0
