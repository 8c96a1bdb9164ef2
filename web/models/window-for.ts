/** Which window of a long table to ask the server for, so that the next rows are there before they are in view. Pure. */

/**
 * The offset of the window: as before while the rows in view are well inside it, otherwise one that has them
 * in its middle. `first` and `end` are the rows in view, `end` the one after the last.
 */
export function windowFor(view: {
  readonly first: number;
  readonly end: number;
  readonly offset: number;
  readonly limit: number;
}): number {
  const { first, end, offset, limit } = view;
  const margin = Math.floor(limit / 8);
  const isInside = (offset === 0 || first - offset >= margin) && offset + limit - end >= margin;
  return isInside ? offset : Math.max(0, Math.floor((first + end - limit) / 2));
}
