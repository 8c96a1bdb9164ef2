/** Which parts of a JSON value to read: all of it, or these fields. An array stands for each of its elements. */
export type FieldTree = true | { readonly [name: string]: FieldTree };
