/** A small valid SKILL.md. `front`: additional front matter, `body`: its text. */
export const skillMd = (
  name: string,
  { front = '', body = '# Do it\n\nMeasure first, then change one thing.\n' } = {},
): string =>
  `---\nname: ${name}\ndescription: Finds out why a build is slow. Use it when a build takes minutes.\n${front === '' ? '' : `${front}\n`}---\n\n${body}`
