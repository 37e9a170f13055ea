-- Which programs may work on a schema that is newer than they are. Each migration
-- says so of itself; a version that says nothing is for programs that know it.
create table schema_compatibility (
  version        integer primary key,
  oldest_program integer not null check (oldest_program between 1 and version)
);
insert into schema_compatibility (version, oldest_program) values (9, 9);
grant select on schema_compatibility to {{.app}};

comment on table schema_compatibility is 'per version of the schema, which programs may work on it';
comment on column schema_compatibility.oldest_program is 'a program must know the migrations up to this one; below version: the migration only added what older programs pass over';
